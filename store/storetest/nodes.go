package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// OpenNodes opens several stores on one fresh database, as nodes do. For a database of a single process it returns the same
// store several times.
type OpenNodes func(t *testing.T, o store.Options) []*store.Store

// RunNodes runs the cases of several nodes that work at the same time.
func RunNodes(t *testing.T, open OpenNodes) { runNodes(t, open, func(string) bool { return true }) }

// RunNodes is [RunNodes] on stores of that path, without the cases that claim nothing.
func (p ClaimPath) RunNodes(t *testing.T, open OpenNodes) {
	runNodes(t, func(t *testing.T, o store.Options) []*store.Store {
		t.Helper()
		return open(t, p.of(o))
	}, func(name string) bool { return !idle[name] })
}

func runNodes(t *testing.T, open OpenNodes, wanted func(name string) bool) {
	for name, fn := range nodeCases {
		if !wanted(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{T: t, ctx: t.Context(), clock: NewClock(), artifacts: NewMemoryArtifacts(), tally: newTally(), settled: map[string]int64{}}
			nodes := open(t, store.Options{Clock: b.clock.Now, Monotonic: b.clock.Mono, Bytes: b.artifacts, Sealer: newSealer(t), Observer: b.tally})
			b.st = nodes[0]
			fn(b, nodes)
			claimsNothing(b, name)
		})
	}
}

var nodeCases = map[string]func(*bench, []*store.Store){}

func addNodes(sentence string, fn func(*bench, []*store.Store)) {
	if nodeCases[sentence] != nil {
		panic("two cases say: " + sentence)
	}
	nodeCases[sentence] = fn
}

// crowd runs fn on every node, several times at once, and fails the test with the first error.
func (b *bench) crowd(nodes []*store.Store, each int, fn func(ctx context.Context, st *store.Store, i int) error) {
	b.Helper()
	errs := make([]error, each*len(nodes))
	together(len(errs), func(i int) { errs[i] = fn(b.ctx, nodes[i%len(nodes)], i) })
	for _, err := range errs {
		ok(b, err)
	}
}

func init() {
	addNodes("schedulers that fire at the same moment make one job for each nominal time", caseSchedulersThatFireAtTheSameMomentMakeOne)
	addNodes("two schedulers and one due schedule: one run", caseTwoSchedulersAndOneDueSchedule)
	addNodes("firing, finishing, pausing and editing at the same moment lose no loop and double none", caseFiringFinishingPausingAndEditingAtTheSameMoment)
	addNodes("lost sessions released at the same moment are settled once", caseLostSessionsReleasedAtTheSameMomentAreSettled)
	addNodes("delayed jobs made ready by several nodes at the same moment are made ready once", caseDelayedJobsMadeReadyBySeveralNodesAtThe)
	addNodes("claims at the same moment never take more places than a global limit has", caseClaimsAtTheSameMomentNeverTakeMorePlaces)
	addNodes("a job claimed at one node is renewed, logged and finished at another", caseAJobClaimedAtOneNodeIsRenewed)
	addNodes("a schedule made while its task is deleted has a task or is refused", caseAScheduleMadeWhileItsTaskIsDeletedHas)
	addNodes("a task saved while its queue is deleted has a queue or is refused", caseATaskSavedWhileItsQueueIsDeletedHas)
	addNodes("an alert rule saved while its channel is deleted has a channel or is refused", caseAnAlertRuleSavedWhileItsChannelIsDeleted)
	addNodes("retries of a failed job at the same moment bring it back once, and the others say so", caseRetriesAtTheSameMoment)
	addNodes("applies of one file at the same moment all succeed and make one of each", caseAppliesOfOneFileAtTheSameMomentAll)
}

func caseSchedulersThatFireAtTheSameMomentMakeOne(b *bench, nodes []*store.Store) {
	const schedules, rounds = 30, 6
	b.task("t")
	for i := range schedules {
		b.schedule(fmt.Sprint("s", i), "t", every(time.Minute), overlap(schedule.OverlapAllow))
	}
	var jobs atomic.Int64
	for range rounds {
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, _ int) error {
			f, err := st.FireDue(ctx)
			jobs.Add(int64(f.Jobs))
			return err
		})
		for f := b.fire(); f.Schedules > 0; f = b.fire() {
			jobs.Add(int64(f.Jobs))
		}
		b.clock.Move(time.Minute)
	}
	want(b, "jobs answered", jobs.Load(), schedules*rounds)
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), schedules*rounds)
	want(b, "different nominal times", b.count(`select count(*) from (select distinct schedule_id, nominal from belfry.jobs) as d`), schedules*rounds)
	want(b, "occurrences", b.count(`select count(*) from belfry.occurrences`), schedules*rounds)
}

func caseTwoSchedulersAndOneDueSchedule(b *bench, nodes []*store.Store) {
	b.task("t")
	b.schedule("s", "t", at(Epoch.Add(time.Second)))
	b.clock.Move(time.Second)
	var jobs atomic.Int64
	b.crowd(nodes, 4, func(ctx context.Context, st *store.Store, _ int) error {
		f, err := st.FireDue(ctx)
		jobs.Add(int64(f.Jobs))
		return err
	})
	want(b, "jobs", jobs.Load(), 1)
}

func caseFiringFinishingPausingAndEditingAtTheSameMoment(b *bench, nodes []*store.Store) {
	const rounds = 12
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	for _, o := range []schedule.Overlap{schedule.OverlapBufferOne, schedule.OverlapCancelOther, schedule.OverlapTerminateOther, schedule.OverlapSkip} {
		b.schedule(string(o), "t", every(time.Minute), overlap(o))
	}
	b.schedule("loop", "t", afterFinish(time.Minute))
	b.schedule("toggled", "t", afterFinish(time.Minute))
	for range rounds {
		s := b.session("t")
		c := b.claim(s, 10)
		b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
			switch i {
			case 0:
				if _, err := st.PauseSchedule(ctx, "default", "toggled", ""); err != nil {
					return err
				}
				_, err := st.ResumeSchedule(ctx, "default", "toggled", false)
				return err
			case 1:
				sc, err := st.Schedule(ctx, "default", string(schedule.OverlapBufferOne))
				if err != nil {
					return err
				}
				sc.Description += "x"
				_, err = st.UpdateSchedule(ctx, sc)
				return err
			case 2, 3:
				_, err := st.FireDue(ctx)
				return err
			}
			for k, j := range c.Jobs { // two finish every job, one of them late
				if k%2 == i%2 {
					if _, err := st.Finish(ctx, s.ID, []job.Finish{{Ref: refOf(j), Outcome: job.OutcomeOK}}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		ok(b, b.st.CloseSession(b.ctx, s.ID))
		b.clock.Move(time.Minute)
		for f := b.fire(); f.Schedules > 0; f = b.fire() {
		}
	}
	want(b, "attempts", b.count(`select count(*) from belfry.attempts`), b.count(`select count(*) from (select distinct job_id, lease from belfry.attempts) as d`))
	want(b, "different nominal times", b.count(`select count(*) from (select distinct schedule_id, nominal from belfry.jobs union select distinct schedule_id, nominal from belfry.jobs_done) as d`),
		b.count(`select count(*) from belfry.occurrences where decision = 'job'`))
	for _, name := range []string{"buffer_one", "cancel_other", "terminate_other", "skip", "loop", "toggled"} {
		live := len(b.jobsOf(name, job.Ready, job.Running, job.Scheduled))
		if live > 1 {
			b.Fatalf("schedule %s has %d live jobs, want at most 1", name, live)
		}
		if sc := b.get(name); live == 0 && sc.NextAt.IsZero() {
			b.Fatalf("schedule %s no longer fires: %s", name, schedules{b}.said(name))
		}
	}
}

func caseLostSessionsReleasedAtTheSameMomentAreSettled(b *bench, nodes []*store.Store) {
	const jobs = 60
	b.task("t")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, jobs)))(b)
	s := b.session("t")
	c := b.claim(s, jobs)
	b.clock.Move(lost)
	var stale, released atomic.Int64
	b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, i int) error {
		if i%3 == 0 { // the worker's own finish comes at the same time
			var fs []job.Finish
			for _, j := range c.Jobs {
				fs = append(fs, job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK})
			}
			got, err := st.Finish(ctx, s.ID, fs)
			for _, f := range got {
				if f.Stale {
					stale.Add(1)
				}
			}
			return err
		}
		r, err := st.ReleaseLost(ctx)
		released.Add(int64(r.Jobs))
		return err
	})
	for r := must(b.st.ReleaseLost(b.ctx))(b); r.Jobs > 0; r = must(b.st.ReleaseLost(b.ctx))(b) {
		released.Add(int64(r.Jobs))
	}
	want(b, "attempts", b.count(`select count(*) from belfry.attempts`)+b.count(`select count(*) from belfry.jobs_done where outcome <> ''`), jobs)
	want(b, "lost attempts", b.count(`select count(*) from belfry.attempts where outcome = 'lost'`), released.Load())
	want(b, "live jobs", b.count(`select count(*) from belfry.jobs`), released.Load())
}

func caseDelayedJobsMadeReadyBySeveralNodesAtThe(b *bench, nodes []*store.Store) {
	const jobs = 200
	b.task("t")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t", Delay: core.Duration(time.Second)}}, jobs)))(b)
	b.clock.Move(time.Second)
	var promoted atomic.Int64
	b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, _ int) error {
		p, err := st.Promote(ctx)
		promoted.Add(int64(p.Jobs))
		return err
	})
	want(b, "promoted", promoted.Load()+int64(b.promote()), jobs)
	want(b, "ready", b.count(`select count(*) from belfry.jobs where state = 'ready'`), jobs)
}

func caseClaimsAtTheSameMomentNeverTakeMorePlaces(b *bench, nodes []*store.Store) {
	const limit, each = 3, 4
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: limit}))(b)
	b.task("t")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, 100)))(b)
	sessions := make([]job.Session, each*len(nodes))
	for i := range sessions {
		sessions[i] = b.session("t")
	}
	for range 10 {
		claims := make([]job.Claim, len(sessions))
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) (err error) {
			claims[i], err = st.Claim(ctx, job.ClaimRequest{Session: sessions[i].ID, Want: map[string]int{"default": 2}})
			return err
		})
		want(b, "running", b.count(`select count(*) from belfry.leases`), limit)
		for i, c := range claims {
			for _, j := range c.Jobs {
				b.finish(sessions[i], j, job.OutcomeOK)
			}
		}
	}
}

func caseAJobClaimedAtOneNodeIsRenewed(b *bench, nodes []*store.Store) {
	a, z := nodes[0], nodes[len(nodes)-1]
	b.task("t")
	j := b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	c := must(z.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}}))(b)
	ref := refOf(c.Jobs[0])
	want(b, "lost", must(a.Renew(b.ctx, s.ID, job.Held(ref)))(b).Lost, false)
	ok(b, z.Append(b.ctx, s.ID, []job.LogPiece{{Ref: ref, Stream: job.Log, At: Epoch, Text: "hello"}}))
	want(b, "finish", must(a.Finish(b.ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}}))(b)[0].State, job.Succeeded)
	want(b, "state read through the other node", must(z.Job(b.ctx, "default", j.ID))(b).State, job.Succeeded)
}

func caseAScheduleMadeWhileItsTaskIsDeletedHas(b *bench, nodes []*store.Store) {
	for i := range 12 {
		name := fmt.Sprint("t", i)
		b.task(name)
		b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, k int) error {
			var err error
			if k%2 == 0 {
				err = st.DeleteTask(ctx, "default", name)
			} else {
				_, err = st.CreateSchedule(ctx, schedule.Schedule{Name: fmt.Sprint("s", i, "-", k), Task: name, Rules: []schedule.Rule{{Cron: "* * * * *"}}})
			}
			switch core.CodeOf(err) {
			case core.Conflict, core.NotFound, core.Invalid:
				return nil
			}
			return err
		})
	}
	want(b, "schedules without a task", b.count(`select count(*) from belfry.schedules where task_id not in (select id from belfry.tasks)`), 0)
}

func caseATaskSavedWhileItsQueueIsDeletedHas(b *bench, nodes []*store.Store) {
	for round := range 20 {
		q := fmt.Sprint("q", round)
		must(b.st.SaveQueue(b.ctx, job.Queue{Name: q}))(b)
		must(b.st.SaveQueue(b.ctx, job.Queue{Name: "of-" + q}))(b)
		moved := b.task("moved-"+q, func(t *task.Task) { t.Queue = "of-" + q })
		moved.Queue = q
		b.crowd(nodes, 2, func(ctx context.Context, st *store.Store, i int) (err error) {
			switch i {
			case 0:
				_, err = st.CreateTask(ctx, task.Task{Name: "made-" + q, Queue: q, Kind: task.KindFunc})
			case 1:
				_, err = st.UpdateTask(ctx, moved)
			default:
				err = st.DeleteQueue(ctx, q)
			}
			if code := core.CodeOf(err); code == core.Invalid || code == core.Conflict || code == core.NotFound {
				err = nil
			}
			return err
		})
	}
	want(b, "tasks without a queue", b.count(`select count(*) from belfry.tasks where queue not in (select name from belfry.queues)`), 0)
}

func caseAnAlertRuleSavedWhileItsChannelIsDeleted(b *bench, nodes []*store.Store) {
	for round := range 20 {
		name := fmt.Sprint("c", round)
		must(b.st.SaveChannel(b.ctx, alert.Channel{Name: name, Webhook: &alert.WebhookChannel{URL: "https://example.org/hook"}}))(b)
		b.crowd(nodes, 1, func(ctx context.Context, st *store.Store, i int) (err error) {
			if i == 0 {
				_, err = st.SaveAlertRule(ctx, alert.Rule{Name: "to-" + name, Channels: []string{name}})
			} else {
				err = st.DeleteChannel(ctx, "default", name)
			}
			if code := core.CodeOf(err); code == core.Invalid || code == core.Conflict || code == core.NotFound {
				err = nil
			}
			return err
		})
		_, err := b.st.AlertRule(b.ctx, "default", "to-"+name)
		if there := err == nil; there {
			must(b.st.Channel(b.ctx, "default", name))(b)
		}
	}
}

func caseAppliesOfOneFileAtTheSameMomentAll(b *bench, nodes []*store.Store) {
	var m view.Manifest
	for i := range 10 {
		m.Queues = append(m.Queues, job.Queue{Name: fmt.Sprint("q", i)})
		m.Tasks = append(m.Tasks, task.Task{Name: fmt.Sprint("t", i), Queue: fmt.Sprint("q", i)})
		m.Schedules = append(m.Schedules, schedule.Schedule{Name: fmt.Sprint("s", i), Task: fmt.Sprint("t", i), Rules: []schedule.Rule{{Cron: "* * * * *"}}})
	}
	b.crowd(nodes, 3, func(ctx context.Context, st *store.Store, _ int) error {
		_, err := st.Apply(ctx, m, view.ApplyOptions{Prune: true})
		if core.CodeOf(err) == core.Conflict && strings.Contains(err.Error(), "already") {
			return nil // another call created it just before: this one is told so, and leaves nothing half done
		}
		return err
	})
	for _, q := range []string{"tasks", "schedules"} {
		want(b, q, b.count(`select count(*) from belfry.`+q), 10)
	}
	for _, line := range must(b.st.Apply(b.ctx, m, view.ApplyOptions{}))(b).Changes {
		want(b, line.Noun+" "+line.Name, line.Action, view.ActionKeep)
	}
}

func caseRetriesAtTheSameMoment(b *bench, nodes []*store.Store) {
	const each = 5
	b.task("t", attempts(1))
	s := b.session("t")
	for range 4 {
		id := b.enqueue(job.NewJob{Task: "t"}).ID
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
		var back atomic.Int64
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, _ int) error {
			out, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{id}})
			back.Add(int64(len(out.IDs)))
			if why, left := out.Left[id]; left && why != "cannot be retried: ready" && why != "was retried at the same moment" {
				b.Errorf("retry beside another: left with the reason %q", why)
			}
			return err
		})
		want(b, "brought back", back.Load(), 1)
		one := view.Selection{IDs: []int64{id}}
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, i int) error {
			for n := range 32 {
				do := st.CancelJobs
				if (i+n)%2 > 0 {
					do = st.RetryJobs
				}
				out, err := do(ctx, "default", one)
				if err != nil {
					return err
				}
				if out.Left[id] == "no such job" {
					b.Error("a job that moves between two tables is not found")
				}
			}
			return nil
		})
		must(b.st.CancelJobs(b.ctx, "default", one))(b)
	}
}
