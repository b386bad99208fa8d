package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// settleTwice has every check settled by two nodes at the same moment, and
// answers how many finishes counted.
func (w checker) settleTwice(nodes []*store.Store, jobs []belfry.LeasedJob, m belfry.Measure) (counted int64) {
	w.Helper()
	var n atomic.Int64
	w.crowd(nodes, 2, func(ctx context.Context, st *store.Store, i int) error {
		for k := range jobs { // half of them from the other end, so that batches meet
			if i%2 == 1 {
				k = len(jobs) - 1 - k
			}
			got, err := st.Finish(ctx, w.session.ID, []belfry.Finish{{Ref: refOf(jobs[k]), Outcome: belfry.OutcomeOK, Check: &m}})
			if err != nil {
				return err
			}
			if !got[0].Stale {
				n.Add(1)
			}
		}
		return nil
	})
	return n.Load()
}

// claimAll claims what checks there are on all nodes at the same moment.
func (w checker) claimAll(nodes []*store.Store) (jobs []belfry.LeasedJob) {
	w.Helper()
	var mu sync.Mutex
	w.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error {
		for {
			c, err := st.Claim(ctx, belfry.ClaimRequest{Session: w.session.ID, Want: map[string]int{belfry.ChecksQueue: 7}})
			if err != nil || len(c.Jobs) == 0 {
				return err
			}
			mu.Lock()
			jobs = append(jobs, c.Jobs...)
			mu.Unlock()
		}
	})
	return jobs
}

func (b *bench) fireAll(nodes []*store.Store) {
	b.Helper()
	b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error {
		if _, err := st.Promote(ctx); err != nil {
			return err
		}
		_, err := st.FireDue(ctx)
		return err
	})
	for b.fire().Schedules > 0 {
	}
}

func (b *bench) lapseAll(nodes []*store.Store) {
	b.Helper()
	b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error {
		_, err := st.LapseMonitors(ctx)
		return err
	})
	for must(b.st.LapseMonitors(b.ctx))(b).Monitors > 0 {
	}
}

// onTheMinute has a monitor checked on the minute, whatever its name.
func onTheMinute(m *belfry.Monitor) { m.Rules = []belfry.Rule{{Cron: "* * * * *"}} }

func init() {
	addNodes("each nominal time of a monitor is checked once, and a check counts once", func(b *bench, nodes []*store.Store) {
		const monitors, rounds = 20, 5
		w := b.checker()
		for i := range monitors {
			b.monitor(fmt.Sprint("m", i), onTheMinute)
		}
		for range rounds {
			b.clock.Move(time.Minute)
			b.fireAll(nodes)
			jobs := w.claimAll(nodes)
			want(b, "checks claimed", len(jobs), monitors)
			want(b, "finishes that counted", w.settleTwice(nodes, jobs, passed), monitors)
		}
		want(b, "results", b.count(`select count(*) from results`), monitors*rounds)
		want(b, "jobs left", b.count(`select count(*) from jobs`), 0)
		want(b, "leases left", b.count(`select count(*) from leases`), 0)
		want(b, "monitors that are up", b.count(`select count(*) from monitors where status = 'up'`), monitors)
		want(b, "entries of the timelines", b.count(`select count(*) from spans where state = 'up'`), monitors)
	})

	addNodes("a check that confirms is planned once, and an outage is one", func(b *bench, nodes []*store.Store) {
		const monitors = 12
		w := b.checker()
		b.channel("hook")
		for i := range monitors {
			b.monitor(fmt.Sprint("m", i), onTheMinute)
		}
		b.clock.Move(time.Minute)
		b.fireAll(nodes)
		w.settleTwice(nodes, w.claimAll(nodes), failed)
		want(b, "checks that confirm", b.count(`select count(*) from jobs`), monitors)
		b.clock.Move(20 * time.Second)
		b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error { _, err := st.Promote(ctx); return err })
		b.promote()
		want(b, "finishes that counted", w.settleTwice(nodes, w.claimAll(nodes), failed), monitors)
		want(b, "incidents", b.count(`select count(*) from incidents`), monitors)
		want(b, "alerts", b.count(`select count(*) from alerts`), monitors)
		want(b, "jobs left", b.count(`select count(*) from jobs`), 0)
	})

	addNodes("two checks of one monitor that fail at the same moment leave one that confirms, or an outage", func(b *bench, nodes []*store.Store) {
		const monitors = 8
		w := b.checker()
		names := make([]string, monitors)
		for i := range names {
			names[i] = fmt.Sprint("m", i)
			b.monitor(names[i], onTheMinute, func(m *belfry.Monitor) { m.Confirm.Failures = 3 })
		}
		b.clock.Move(time.Minute)
		b.fireAll(nodes)
		for _, name := range names {
			must(b.st.CheckMonitor(b.ctx, "default", name))(b)
		}
		jobs := w.claimAll(nodes)
		want(b, "checks", len(jobs), 2*monitors)
		want(b, "finishes that counted", w.settleTwice(nodes, jobs, failed), 2*monitors)
		for _, name := range names {
			if n := b.count(`select count(*) from jobs where task = $1`, belfry.OwnedName(name)); n != 1 {
				b.Fatalf("%s is %+v and has %d checks that confirm", name, w.look(name).State, n)
			}
		}
	})

	addNodes("what time alone brings happens once", func(b *bench, nodes []*store.Store) {
		const monitors = 10
		b.channel("hook", func(r *belfry.AlertRule) { r.Group = -1 })
		for i := range monitors {
			v := b.monitor(fmt.Sprint("beat", i), func(m *belfry.Monitor) { m.Check, m.Heartbeat, m.Every = belfry.Task{}, &belfry.Heartbeat{}, belfry.Duration(time.Hour) })
			must(b.st.Beat(b.ctx, strings.TrimPrefix(v.Beat, "/beat/"), belfry.Call{Kind: belfry.CallSuccess}))(b)
			b.monitor(fmt.Sprint("paused", i))
			must(b.st.PauseMonitor(b.ctx, "default", fmt.Sprint("paused", i), b.clock.Now().Add(time.Hour), ""))(b)
		}
		b.clock.Move(2 * time.Hour)
		b.lapseAll(nodes)
		want(b, "heartbeats that are down", b.count(`select count(*) from monitors where status = 'down'`), monitors)
		want(b, "incidents", b.count(`select count(*) from incidents`), monitors)
		want(b, "results", b.count(`select count(*) from results where code = 'missed'`), monitors)
		want(b, "alerts", b.count(`select count(*) from alerts`), monitors)
		want(b, "monitors that go on", b.count(`select count(*) from monitors where status = 'new'`), monitors)
		want(b, "schedules that go on", b.count(`select count(*) from schedules where state = 'active' and next_at > 0`), monitors)
		want(b, "resumes", b.count(`select count(*) from audit where action = 'resume' and noun = 'schedule'`), monitors)
	})

	addNodes("calls of a heartbeat and the end of its grace at the same moment agree", func(b *bench, nodes []*store.Store) {
		const monitors = 8
		keys := make([]string, monitors)
		for i := range keys {
			v := b.monitor(fmt.Sprint("beat", i), func(m *belfry.Monitor) { m.Check, m.Heartbeat, m.Every = belfry.Task{}, &belfry.Heartbeat{}, belfry.Duration(time.Hour) })
			keys[i] = strings.TrimPrefix(v.Beat, "/beat/")
			must(b.st.Beat(b.ctx, keys[i], belfry.Call{Kind: belfry.CallSuccess}))(b)
		}
		for range 5 {
			b.clock.Move(72 * time.Minute) // to the very end of the grace
			b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
				if i%2 == 0 {
					_, err := st.LapseMonitors(ctx)
					return err
				}
				for k := range keys {
					if _, err := st.Beat(ctx, keys[(k+i)%len(keys)], belfry.Call{Kind: belfry.CallSuccess}); err != nil {
						return err
					}
				}
				return nil
			})
			want(b, "heartbeats that are up", b.count(`select count(*) from monitors where status = 'up'`), monitors)
			want(b, "open incidents", b.count(`select count(*) from incidents where ended_at = 0`), 0)
		}
	})

	addNodes("each message is taken by one node, and told once", func(b *bench, nodes []*store.Store) {
		const channels, monitors = 6, 5
		w := b.checker()
		for i := range channels {
			b.channel(fmt.Sprint("hook", i))
		}
		for i := range monitors {
			b.monitor(fmt.Sprint("m", i), onTheMinute)
		}
		told := map[string]int{} // by channel, key and notice
		var mu sync.Mutex
		deliver := func() {
			b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
				taken, err := st.TakeAlerts(ctx, "")
				if err != nil {
					return err
				}
				for _, t := range taken.Messages {
					mu.Lock()
					for _, n := range t.Message.Notices {
						told[fmt.Sprint(t.Channel.Name, " ", n.Monitor, " ", n.Type, " ", n.Incident)]++
					}
					mu.Unlock()
					if err := nodes[(i+1)%len(nodes)].SettleAlerts(ctx, t, belfry.Told{}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for _, m := range []belfry.Measure{failed, passed} {
			b.clock.Move(b.clock.Now().Truncate(time.Minute).Add(time.Minute).Sub(b.clock.Now()))
			b.fireAll(nodes)
			w.settleTwice(nodes, w.claimAll(nodes), m)
			b.clock.Move(20 * time.Second)
			b.promote()
			w.settleTwice(nodes, w.claimAll(nodes), m)
			b.clock.Move(31 * time.Second)
			for range 3 {
				deliver()
			}
		}
		want(b, "alerts that wait", b.count(`select count(*) from alerts where state = 'pending'`), 0)
		want(b, "alerts sent", b.count(`select count(*) from alerts where state = 'sent'`), 2*channels*monitors)
		want(b, "different notices told", len(told), 2*channels*monitors)
		for what, n := range told {
			want(b, what, n, 1)
		}
	})

	addNodes("monitors that are paused, edited and deleted beside their checks go on, and no two sides wait for each other", func(b *bench, nodes []*store.Store) {
		const monitors, rounds = 10, 12
		w := b.checker()
		b.channel("hook", func(r *belfry.AlertRule) { r.Remind = belfry.Duration(time.Minute) })
		name := func(i int) string { return fmt.Sprint("m", i%monitors) }
		for i := range monitors {
			b.monitor(name(i))
		}
		var held struct {
			sync.Mutex
			jobs []belfry.LeasedJob
		}
		for round := range rounds {
			b.clock.Move(time.Minute)
			for b.fire().Schedules > 0 {
			}
			b.promote()
			held.jobs = append(held.jobs[max(0, len(held.jobs)-5):], w.checks()...) // some stay, and are lost or late
			jobs := slices.Clone(held.jobs)
			b.crowd(nodes, 5, func(ctx context.Context, st *store.Store, i int) error {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(i)))
				for range 8 {
					if err := w.disturb(ctx, st, rng, name(rng.IntN(monitors)), jobs); err != nil {
						return err
					}
				}
				return nil
			})
			b.renew(w.session)
		}
		// After the storm each monitor that is there and not paused has a next
		// check, and only one loop.
		for i := range monitors {
			v, err := b.st.Monitor(b.ctx, "default", name(i))
			if belfry.CodeOf(err) == belfry.NotFound {
				v = b.monitor(name(i))
			} else {
				ok(b, err)
			}
			if v.Status == belfry.StatusPaused {
				v = must(b.st.ResumeMonitor(b.ctx, "default", v.Name))(b)
			}
			sc := b.get(belfry.OwnedName(v.Name))
			if v.NextAt.IsZero() || sc.State != belfry.ScheduleActive || !sc.NextAt.Equal(v.NextAt) {
				b.Fatalf("%s is dead: %+v, next %s; its schedule is %s", v.Name, v.State, v.NextAt, sc.State)
			}
		}
		want(b, "schedules", b.count(`select count(*) from schedules`), monitors)
		want(b, "tasks", b.count(`select count(*) from tasks`), monitors)
		want(b, "open incidents of what is not down", b.count(`select count(*) from incidents i where ended_at = 0 and not exists (select 1 from monitors m where m.id = i.monitor_id and m.status = 'down')`), 0)
		ok(b, b.st.CloseSession(b.ctx, w.session.ID))
		b.clock.Move(lost)
		for b.release() > 0 {
		}
		w.session = b.checker().session
		for i := range monitors {
			since := b.clock.Now()
			for turns := 0; w.look(name(i)).State.LastAt.Before(since); turns++ {
				if w.turn(name(i), passed); turns > 3*monitors {
					b.Fatalf("%s is not checked any more: %+v", name(i), w.look(name(i)))
				}
			}
		}
		want(b, "jobs of nobody", b.count(`select count(*) from jobs where schedule_id not in (select schedule_id from monitors)`), 0)
	})
}

// disturb does one thing to a monitor, or to all. What is refused because
// another was faster is no fault.
func (w checker) disturb(ctx context.Context, st *store.Store, rng *rand.Rand, name string, jobs []belfry.LeasedJob) error {
	measures := []belfry.Measure{passed, failed, failed, ours}
	m := measures[rng.IntN(len(measures))]
	var err error
	switch rng.IntN(16) {
	case 0:
		_, err = st.PauseMonitor(ctx, "default", name, time.Time{}, "a while")
	case 1:
		_, err = st.PauseMonitor(ctx, "default", name, w.clock.Now().Add(30*time.Second), "a moment")
	case 2, 3:
		_, err = st.ResumeMonitor(ctx, "default", name)
	case 4:
		var v belfry.MonitorView
		if v, err = st.Monitor(ctx, "default", name); err == nil {
			v.Monitor.Every = belfry.Duration(50+rng.IntN(20)) * belfry.Duration(time.Second)
			_, err = st.UpdateMonitor(ctx, v.Monitor)
		}
	case 5:
		if err = st.DeleteMonitor(ctx, "default", name); err == nil || belfry.CodeOf(err) == belfry.NotFound {
			_, err = st.CreateMonitor(ctx, belfry.Monitor{Name: name, Check: belfry.Task{HTTP: &belfry.HTTP{URL: "https://example.org/"}}})
		}
	case 6:
		_, err = st.CheckMonitor(ctx, "default", name)
	case 7:
		_, err = st.SaveWindow(ctx, belfry.Window{Name: "window", Monitors: []string{name}, From: w.clock.Now().Add(-time.Minute), To: w.clock.Now().Add(90 * time.Second)})
	case 8:
		_, err = st.LapseMonitors(ctx)
	case 9:
		if _, err = st.Promote(ctx); err == nil {
			_, err = st.FireDue(ctx)
		}
	case 10:
		var taken belfry.TakenAlerts
		taken, err = st.TakeAlerts(ctx, "")
		for _, t := range taken.Messages {
			if err == nil {
				err = st.SettleAlerts(ctx, t, belfry.Told{})
			}
		}
	default: // settle a few at once, of which some are settled already
		var fs []belfry.Finish
		for range min(5, len(jobs)) {
			f := belfry.Finish{Ref: refOf(jobs[rng.IntN(len(jobs))]), Outcome: belfry.OutcomeOK, Check: &m}
			if rng.IntN(4) == 0 {
				f.Outcome, f.Check, f.Error = belfry.OutcomeError, nil, "the worker broke"
			}
			fs = append(fs, f)
		}
		if len(fs) > 0 {
			_, err = st.Finish(ctx, w.session.ID, fs)
		}
	}
	switch belfry.CodeOf(err) {
	case belfry.NotFound, belfry.Conflict:
		return nil
	}
	return err
}
