package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	addNodes("monitors that are paused, edited and deleted beside their checks go on, and no two sides wait for each other", caseMonitorsThatArePaused)
}

func caseMonitorsThatArePaused(b *bench, nodes []*store.Store) {
	const monitors, rounds = 10, 12
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Remind = core.Duration(time.Minute) })
	must(b.st.SaveWindow(b.ctx, monitor.Window{Name: "window", From: Epoch.Add(time.Minute), To: Epoch.Add(2 * time.Minute)}))(b)
	name := func(i int) string { return fmt.Sprint("m", i%monitors) }
	for i := range monitors {
		b.monitor(name(i))
	}
	var held struct {
		sync.Mutex
		jobs []job.LeasedJob
	}
	for round := range rounds {
		b.clock.Move(time.Minute)
		for b.fire().Schedules > 0 {
		}
		b.promote()
		held.jobs = append(held.jobs[max(0, len(held.jobs)-5):], w.checks()...) // older jobs are settled late or are lost
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
	// After the storm each existing, active monitor has a next check, and only one loop.
	for i := range monitors {
		v, err := b.st.Monitor(b.ctx, "default", name(i))
		if core.CodeOf(err) == core.NotFound {
			v = b.monitor(name(i))
		} else {
			ok(b, err)
		}
		if v.Status == monitor.StatusPaused {
			v = must(b.st.ResumeMonitor(b.ctx, "default", v.Name))(b)
		}
		sc := b.get(task.OwnedName(v.Name))
		if v.NextAt.IsZero() || sc.NextAt.IsZero() || sc.State != schedule.Active {
			b.Fatalf("monitor %s is never checked again: state %+v, next %s; its schedule is %s, next %s", v.Name, v.State, v.NextAt, sc.State, sc.NextAt)
		}
	}
	want(b, "schedules", b.count(`select count(*) from belfry.schedules`), monitors)
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), monitors)
	want(b, "open incidents of what is not down", b.count(`select count(*) from belfry.incidents i where ended_at = 0 and not exists (select 1 from belfry.monitors m where m.id = i.monitor_id and m.status = 'down')`), 0)
	ok(b, b.st.CloseSession(b.ctx, w.session.ID))
	b.clock.Move(lost)
	for b.release() > 0 {
	}
	w.session = b.checker().session
	for i := range monitors {
		since := b.clock.Now()
		for turns := 0; w.look(name(i)).State.LastAt.Before(since); turns++ {
			if w.turn(name(i), passed); turns > 3*monitors {
				b.Fatalf("monitor %s is no longer checked: %+v", name(i), w.look(name(i)))
			}
		}
	}
	want(b, "jobs of nobody", b.count(`select count(*) from belfry.jobs where schedule_id not in (select schedule_id from belfry.monitors)`), 0)
}

// disturb does one action to a monitor, or to all. A conflict with a faster action is no fault.
func (w checker) disturb(ctx context.Context, st *store.Store, rng *rand.Rand, name string, jobs []job.LeasedJob) error {
	results := []task.CheckResult{passed, failed, failed, ours}
	m := results[rng.IntN(len(results))]
	var err error
	switch rng.IntN(16) {
	case 0:
		_, err = st.PauseMonitor(ctx, "default", name, time.Time{}, "a while")
	case 1:
		_, err = st.PauseMonitor(ctx, "default", name, w.clock.Now().Add(30*time.Second), "a moment")
	case 2, 3:
		_, err = st.ResumeMonitor(ctx, "default", name)
	case 4:
		var v view.MonitorView
		if v, err = st.Monitor(ctx, "default", name); err == nil {
			v.Monitor.Every = core.Duration(50+rng.IntN(20)) * core.Duration(time.Second)
			_, err = st.UpdateMonitor(ctx, v.Monitor)
		}
	case 5:
		if err = st.DeleteMonitor(ctx, "default", name); err == nil || core.CodeOf(err) == core.NotFound {
			_, err = st.CreateMonitor(ctx, monitor.Monitor{Name: name, Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}})
		}
	case 6:
		_, err = st.CheckMonitor(ctx, "default", name)
	case 7:
		_, err = st.SaveWindow(ctx, monitor.Window{Name: "window", Monitors: []string{name}, From: w.clock.Now().Add(-time.Minute), To: w.clock.Now().Add(90 * time.Second)})
	case 8:
		_, err = st.LapseMonitors(ctx)
	case 9:
		if _, err = st.Promote(ctx); err == nil {
			_, err = st.FireDue(ctx)
		}
	case 10:
		var taken view.TakenAlerts
		taken, err = st.TakeAlerts(ctx, "", 32)
		for _, t := range taken.Messages {
			if err == nil {
				err = st.SettleAlerts(ctx, t, view.DeliveryResult{})
			}
		}
	default: // settles a few at once, some of them settled already
		var fs []job.Finish
		for range min(5, len(jobs)) {
			f := job.Finish{Ref: refOf(jobs[rng.IntN(len(jobs))]), Outcome: job.OutcomeOK, Check: &m}
			if rng.IntN(4) == 0 {
				f.Outcome, f.Check, f.Error = job.OutcomeError, nil, "the worker broke"
			}
			fs = append(fs, f)
		}
		if len(fs) > 0 {
			_, err = st.Finish(ctx, w.session.ID, fs)
		}
	}
	switch core.CodeOf(err) {
	case core.NotFound, core.Conflict:
		return nil
	}
	return err
}
