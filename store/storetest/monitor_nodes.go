package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// settleTwice makes two nodes settle every check at the same time, and returns how many finishes counted.
func (w checker) settleTwice(nodes []*store.Store, jobs []job.LeasedJob, m task.CheckResult) (counted int64) {
	w.Helper()
	var n atomic.Int64
	w.crowd(nodes, 2, func(ctx context.Context, st *store.Store, i int) error {
		for k := range jobs { // half of them in reverse, so that batches meet
			if i%2 == 1 {
				k = len(jobs) - 1 - k
			}
			got, err := st.Finish(ctx, w.session.ID, []job.Finish{{Ref: refOf(jobs[k]), Outcome: job.OutcomeOK, Check: &m}})
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

// claimAll claims the waiting checks on all nodes at the same time.
func (w checker) claimAll(nodes []*store.Store) (jobs []job.LeasedJob) {
	w.Helper()
	var mu sync.Mutex
	w.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error {
		for {
			c, err := st.Claim(ctx, job.ClaimRequest{Session: w.session.ID, Want: map[string]int{task.ChecksQueue: 7}})
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

// onTheMinute makes a monitor check on the minute, whatever its name.
func onTheMinute(m *monitor.Monitor) { m.Rules = []schedule.Rule{{Cron: "* * * * *"}} }

func init() {
	addNodes("each nominal time of a monitor is checked once, and a check counts once", caseEachNominalTimeOfAMonitorIsCheckedOnce)
	addNodes("a check that confirms is planned once, and an outage is one", caseACheckThatConfirmsIsPlannedOnce)
	addNodes("two checks of one monitor that fail at the same moment leave one that confirms, or an outage", caseTwoChecksOfOneMonitorThatFailAtThe)
	addNodes("a check that is asked for beside a pause or a deletion is withdrawn with it, or refused", caseACheckThatIsAskedForBesideAPause)
	addNodes("changes of monitors by time happen once", caseChangesOfMonitorsByTimeHappenOnce)
	addNodes("calls of a heartbeat and the end of its grace at the same moment agree", caseCallsOfAHeartbeatAndTheEndOfIts)
	addNodes("a monitor whose checks count from the end of the last one goes on, on every node", caseAMonitorWhoseChecksCountFromTheEndOf)
	addNodes("each message is taken by one node, and told once", caseEachMessageIsTakenByOneNode)
	addNodes("while one node tells a message the others leave its channel alone, and rest", caseWhileOneNodeTellsAMessageTheOthersLeave)
	addNodes("reminders that end in several channels at the same moment plan the next once", caseRemindersThatEndInSeveralChannels)
}

func caseEachNominalTimeOfAMonitorIsCheckedOnce(b *bench, nodes []*store.Store) {
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
	want(b, "results", b.count(`select count(*) from belfry.results`), monitors*rounds)
	want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
	want(b, "leases left", b.count(`select count(*) from belfry.leases`), 0)
	want(b, "monitors that are up", b.count(`select count(*) from belfry.monitors where status = 'up'`), monitors)
	want(b, "entries of the timelines", b.count(`select count(*) from belfry.spans where state = 'up'`), monitors)
}

func caseACheckThatConfirmsIsPlannedOnce(b *bench, nodes []*store.Store) {
	const monitors = 12
	w := b.checker()
	alerts{b}.channel("hook")
	for i := range monitors {
		b.monitor(fmt.Sprint("m", i), onTheMinute)
	}
	b.clock.Move(time.Minute)
	b.fireAll(nodes)
	w.settleTwice(nodes, w.claimAll(nodes), failed)
	want(b, "checks that confirm", b.count(`select count(*) from belfry.jobs`), monitors)
	b.clock.Move(20 * time.Second)
	b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, _ int) error { _, err := st.Promote(ctx); return err })
	b.promote()
	want(b, "finishes that counted", w.settleTwice(nodes, w.claimAll(nodes), failed), monitors)
	want(b, "incidents", b.count(`select count(*) from belfry.incidents`), monitors)
	want(b, "alerts", b.count(`select count(*) from belfry.alerts`), monitors)
	want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseTwoChecksOfOneMonitorThatFailAtThe(b *bench, nodes []*store.Store) {
	const monitors = 8
	w := b.checker()
	names := make([]string, monitors)
	for i := range names {
		names[i] = fmt.Sprint("m", i)
		b.monitor(names[i], onTheMinute, func(m *monitor.Monitor) { m.Confirm.Failures = 3 })
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
		if n := b.count(`select count(*) from belfry.jobs where task = $1`, task.OwnedName(name)); n != 1 {
			b.Fatalf("monitor %s: got %d confirming checks in state %+v", name, n, w.look(name).State)
		}
	}
}

func caseACheckThatIsAskedForBesideAPause(b *bench, nodes []*store.Store) {
	const monitors, rounds = 6, 5
	w := b.checker()
	name := func(i int) string { return fmt.Sprint("m", i) }
	stop := func(ctx context.Context, st *store.Store, i int) error {
		if i%2 == 0 {
			return st.DeleteMonitor(ctx, "default", name(i))
		}
		_, err := st.PauseMonitor(ctx, "default", name(i), time.Time{}, "a while")
		return err
	}
	for i := range monitors {
		b.monitor(name(i), onTheMinute)
	}
	for range rounds {
		b.clock.Move(time.Minute)
		b.fireAll(nodes)
		jobs := w.checks()
		want(b, "checks", len(jobs), monitors)
		slices.SortFunc(jobs, func(a, b job.LeasedJob) int { return strings.Compare(a.Job.Task, b.Job.Task) })
		b.crowd(nodes, 4, func(ctx context.Context, st *store.Store, place int) error {
			for i := range monitors {
				var err error
				switch place {
				case 0:
					err = stop(ctx, st, i)
				case 1: // a verdict requests a check that confirms
					_, err = st.Finish(ctx, w.session.ID, []job.Finish{{Ref: refOf(jobs[i]), Outcome: job.OutcomeOK, Check: &failed}})
				default:
					_, err = st.CheckMonitor(ctx, "default", name(i))
				}
				if code := core.CodeOf(err); err != nil && code != core.NotFound && code != core.Conflict {
					return err
				}
			}
			return nil
		})
		want(b, "jobs left", b.count(`select count(*) from belfry.jobs`), 0)
		for i := range monitors {
			if i%2 == 0 {
				b.monitor(name(i), onTheMinute)
			} else {
				must(b.st.ResumeMonitor(b.ctx, "default", name(i)))(b)
			}
		}
	}
}

func caseChangesOfMonitorsByTimeHappenOnce(b *bench, nodes []*store.Store) {
	const monitors = 10
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	for i := range monitors {
		v := b.monitor(fmt.Sprint("beat", i), func(m *monitor.Monitor) {
			m.Check, m.Heartbeat, m.Every = task.Task{}, &monitor.Heartbeat{}, core.Duration(time.Hour)
		})
		must(b.st.Beat(b.ctx, strings.TrimPrefix(v.Beat, "/beat/"), monitor.Call{Kind: monitor.CallSuccess}))(b)
		b.monitor(fmt.Sprint("paused", i))
		must(b.st.PauseMonitor(b.ctx, "default", fmt.Sprint("paused", i), b.clock.Now().Add(time.Hour), ""))(b)
	}
	b.clock.Move(2 * time.Hour)
	b.lapseAll(nodes)
	want(b, "heartbeats that are down", b.count(`select count(*) from belfry.monitors where status = 'down'`), monitors)
	want(b, "incidents", b.count(`select count(*) from belfry.incidents`), monitors)
	want(b, "results", b.count(`select count(*) from belfry.results where code = 'missed'`), monitors)
	want(b, "alerts", b.count(`select count(*) from belfry.alerts`), monitors)
	want(b, "monitors that go on", b.count(`select count(*) from belfry.monitors where status = 'new'`), monitors)
	want(b, "schedules that go on", b.count(`select count(*) from belfry.schedules where state = 'active' and next_at > 0`), monitors)
	want(b, "resumes", b.count(`select count(*) from belfry.audit where action = 'resume' and noun = 'schedule'`), monitors)
}

func caseCallsOfAHeartbeatAndTheEndOfIts(b *bench, nodes []*store.Store) {
	const monitors = 8
	keys := make([]string, monitors)
	for i := range keys {
		v := b.monitor(fmt.Sprint("beat", i), func(m *monitor.Monitor) {
			m.Check, m.Heartbeat, m.Every = task.Task{}, &monitor.Heartbeat{}, core.Duration(time.Hour)
		})
		keys[i] = strings.TrimPrefix(v.Beat, "/beat/")
		must(b.st.Beat(b.ctx, keys[i], monitor.Call{Kind: monitor.CallSuccess}))(b)
	}
	for range 5 {
		b.clock.Move(72 * time.Minute) // to the very end of the grace
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
			if i%2 == 0 {
				_, err := st.LapseMonitors(ctx)
				return err
			}
			for k := range keys {
				if _, err := st.Beat(ctx, keys[(k+i)%len(keys)], monitor.Call{Kind: monitor.CallSuccess}); err != nil {
					return err
				}
			}
			return nil
		})
		want(b, "heartbeats that are up", b.count(`select count(*) from belfry.monitors where status = 'up'`), monitors)
		want(b, "open incidents", b.count(`select count(*) from belfry.incidents where ended_at = 0`), 0)
	}
}

func caseAMonitorWhoseChecksCountFromTheEndOf(b *bench, nodes []*store.Store) {
	const monitors, rounds = 6, 4
	w := b.checker()
	for i := range monitors {
		b.monitor(fmt.Sprint("m", i), func(m *monitor.Monitor) {
			m.Rules = []schedule.Rule{{Every: core.Duration(time.Minute), Anchor: schedule.AnchorFinish}}
			m.Confirm.Retry = -1
		})
	}
	for round := range rounds {
		b.fireAll(nodes)
		jobs := w.claimAll(nodes)
		want(b, fmt.Sprintf("checks of round %d", round), len(jobs), monitors)
		if round == 1 {
			for _, j := range jobs {
				w.finish(w.session, j, job.OutcomeError)
			}
		} else {
			w.settleTwice(nodes, jobs, []task.CheckResult{passed, passed, failed, ours}[round])
		}
		want(b, "schedules with a next time", b.count(`select count(*) from belfry.schedules where next_at > 0`), monitors)
		b.clock.Move(time.Minute)
	}
}

func caseEachMessageIsTakenByOneNode(b *bench, nodes []*store.Store) {
	const channels, monitors = 6, 5
	w := b.checker()
	for i := range channels {
		alerts{b}.channel(fmt.Sprint("hook", i))
	}
	for i := range monitors {
		b.monitor(fmt.Sprint("m", i), onTheMinute)
	}
	told := map[string]int{} // messages by channel, key and notification
	var mu sync.Mutex
	deliver := func() {
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
			taken, err := st.TakeAlerts(ctx, "", 32)
			if err != nil {
				return err
			}
			for _, t := range taken.Messages {
				mu.Lock()
				for _, n := range t.Message.Notifications {
					told[fmt.Sprint(t.Channel.Name, " ", n.Monitor, " ", n.Type, " ", n.Incident)]++
				}
				mu.Unlock()
				if err := nodes[(i+1)%len(nodes)].SettleAlerts(ctx, t, view.DeliveryResult{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, m := range []task.CheckResult{failed, passed} {
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
	want(b, "alerts that wait", b.count(`select count(*) from belfry.alerts where state = 'pending'`), 0)
	want(b, "alerts sent", b.count(`select count(*) from belfry.alerts where state = 'sent'`), 2*channels*monitors)
	want(b, "different notifications told", len(told), 2*channels*monitors)
	for what, n := range told {
		want(b, what, n, 1)
	}
}

func caseWhileOneNodeTellsAMessageTheOthersLeave(b *bench, nodes []*store.Store) {
	w := b.checker()
	alerts{b}.channel("hook", func(r *alert.Rule) { r.Group = -1 })
	b.monitor("one", onTheMinute, func(m *monitor.Monitor) { m.Confirm.Failures = 1 })
	b.monitor("two", onTheMinute, func(m *monitor.Monitor) { m.Confirm.Failures = 2 })
	for i := range 2 {
		b.clock.Move(time.Minute)
		b.fireAll(nodes)
		w.settleTwice(nodes, w.claimAll(nodes), failed)
		taken := must(nodes[i%len(nodes)].TakeAlerts(b.ctx, "", 32))(b)
		want(b, "messages", len(taken.Messages), 1-i) // the second message is due while the first is in progress
		for _, st := range nodes {
			taken = must(st.TakeAlerts(b.ctx, "", 32))(b)
			want(b, "messages", len(taken.Messages), 0)
			if !taken.NextAt.After(taken.Now) {
				b.Fatalf("next look at the outbox: got %[2]s, want a time after now, %[1]s", taken.Now, taken.NextAt)
			}
		}
	}
	b.clock.Move(view.AlertTaken)
	want(b, "messages", len(must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages), 2) // includes the first one again, under its key
}

func caseRemindersThatEndInSeveralChannels(b *bench, nodes []*store.Store) {
	const channels, rounds = 6, 8
	w := b.checker()
	names := make([]string, channels)
	for i := range names {
		names[i] = fmt.Sprint("hook", i)
		alerts{b}.channel(names[i], func(r *alert.Rule) { r.Off = true })
	}
	must(b.st.SaveAlertRule(b.ctx, alert.Rule{Name: "all", Channels: names, Group: -1, Remind: core.Duration(time.Minute), RemindMax: 100}))(b)
	b.monitor("site")
	w.turn("site", failed)
	w.turn("site", failed)
	want(b, "messages of the outage", len(alerts{b}.deliver(view.DeliveryResult{})), channels)
	for round := range rounds {
		b.clock.Move(time.Minute << round)
		messages := must(b.st.TakeAlerts(b.ctx, "", 32))(b).Messages
		want(b, "reminders", len(messages), channels)
		errs := make([]error, channels)
		together(channels, func(i int) { errs[i] = nodes[i%len(nodes)].SettleAlerts(b.ctx, messages[i], view.DeliveryResult{}) })
		for _, err := range errs {
			ok(b, err)
		}
		want(b, "reminders planned", b.count(`select count(*) from belfry.alerts where type = 'reminder' and state = 'pending'`), channels)
	}
}
