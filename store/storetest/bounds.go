package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a full queue refuses a batch as a whole, and running jobs do not count", boundRefuses)
	add("a full queue drops the oldest waiting jobs of the lowest priority, each with its reason", boundDrops)
	add("a full queue never drops what runs, what has begun before, and jobs of a higher priority", boundKeeps)
	add("a key that exists is answered as before when its queue is full", boundAndKeys)
	add("retries, checks and steps of workflows are never refused by a full queue", boundLetsIn)
	add("a full queue skips runs of schedules or drops others for them, and holds backfills", boundAndSchedules)
	add("a bound below what waits holds for jobs from before it, and is reached a step at a time", boundBelowWhatWaits)
	add("bounds of queues that cannot be are refused by their field", boundsThatCannotBe)
	addNodes("nodes that enqueue at the same moment never exceed the bound of a queue", boundOverNodes)
	addNodes("nodes that enqueue at the same moment drop exactly what is over the bound", boundDropsOverNodes)
}

// bound gives a queue a bound and no other setting.
func bound(b *bench, queue string, most int, full job.OnFull) {
	b.Helper()
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: queue, MaxWaiting: most, OnFull: full}))(b)
}

// letIn repeats a request as long as the queue has no room: a count without room is cached for a moment.
func letIn(b *bench, n int, like job.NewJob) {
	b.Helper()
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		err := askFor(b, n, like)
		if err == nil {
			return
		}
		if core.CodeOf(err) != core.QueueFull || time.Now().After(until) {
			b.Fatalf("enqueue into a queue with room: %v", err)
		}
	}
}

func waitingIn(b *bench, queue string) int64 {
	b.Helper()
	return b.count(`select count(*) from belfry.jobs where queue = '` + queue + `' and id not in (select job_id from belfry.running)`)
}

func boundRefuses(b *bench) {
	b.task("t")
	bound(b, "narrow", 5, "")
	bound(b, "other", 3, "")
	one := job.NewJob{Task: "t", Queue: "narrow"}
	s := b.session("t")
	ok(b, askFor(b, 1, one))
	b.clock.Move(3 * time.Second) // until all jobs from before the bound have been looked for
	ok(b, askFor(b, 1, one))
	ok(b, askFor(b, 1, one))
	later := one
	later.Delay = core.Duration(time.Hour)
	ok(b, askFor(b, 1, later))
	err := askFor(b, 2, one)
	wantCode(b, err, core.QueueFull, `queue "narrow" is full: 4 of 5 jobs wait, 2 more asked for`, "wait until workers have begun some", "belfry queue update narrow --max-waiting")
	want(b, "asked again after", retryAfter(err) >= core.Duration(time.Second), true)
	want(b, "jobs after a refused batch", waitingIn(b, "narrow"), 4)
	want(b, "refused jobs that were told", b.tally.of("queue_full narrow"), 2)
	want(b, "faults", b.tally.of("faults"), 0)
	err = askFor(b, 6, one)
	wantCode(b, err, core.QueueFull, "enqueue at most 5 at once")
	want(b, "time after which a batch that never fits is asked for again", retryAfter(err), 0)
	ok(b, askFor(b, 9, job.NewJob{Task: "t"})) // in a queue without a bound

	// A batch for several queues is admitted by all of them or by none.
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{one, {Task: "t", Queue: "other"}, {Task: "t", Queue: "other"}, {Task: "t", Queue: "other"}, {Task: "t", Queue: "other"}})
	wantCode(b, err, core.QueueFull, `queue "other"`, "at most 3 at once")
	want(b, "jobs of the others", waitingIn(b, "narrow")+waitingIn(b, "other"), 4)

	leased := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"narrow": 2}}))(b)
	want(b, "leased", len(leased.Jobs), 2)
	letIn(b, 3, one) // 2 jobs run and 2 wait
	wantCode(b, askFor(b, 1, one), core.QueueFull, "5 of 5 jobs wait")
	b.finish(s, leased.Jobs[0], job.OutcomeOK)
	wantCode(b, askFor(b, 1, one), core.QueueFull)

	bound(b, "narrow", 0, "")
	ok(b, askFor(b, 20, one))
	want(b, "rows of bounds", b.count(`select count(*) from belfry.queue_bounds`), 1)
	want(b, "jobs that count no longer need to", b.count(`select count(*) from belfry.jobs where queue = 'narrow' and bounded = 0`), 20)
}

func retryAfter(err error) core.Duration {
	e, _ := err.(*core.Error) //nolint:errorlint // the error is returned unwrapped
	if e == nil {
		return 0
	}
	return e.RetryAfter
}

func narrow(priority int) job.NewJob {
	return job.NewJob{Task: "t", Queue: "narrow", Priority: &priority}
}

func boundDrops(b *bench) {
	b.task("t")
	bound(b, "narrow", 3, job.OnFullDropOldest)
	high, first, second := b.enqueue(narrow(5)), b.enqueue(narrow(0)), b.enqueue(narrow(0))
	third := b.enqueue(narrow(0))
	b.wantState(first.ID, job.Skipped)
	got := b.job(first.ID)
	want(b, "reason of the dropped job", got.Reason, job.ReasonDropped)
	want(b, "note of the dropped job", got.Note, "queue narrow was full: 3 jobs may wait, and newer ones took its place")
	want(b, "attempts", got.Attempt, 0)
	want(b, "waiting", waitingIn(b, "narrow"), 3)

	// A batch drops as many jobs as it lacks room for, in order.
	ok(b, askFor(b, 2, narrow(1)))
	b.wantState(second.ID, job.Skipped)
	b.wantState(third.ID, job.Skipped)
	b.wantState(high.ID, job.Ready)
	want(b, "waiting", waitingIn(b, "narrow"), 3)
	want(b, "dropped jobs that were told", b.tally.of("dropped narrow"), 3)
	wantCode(b, askFor(b, 4, narrow(9)), core.QueueFull, "enqueue at most 3 at once")
	wantCode(b, askFor(b, 3, narrow(1)), core.QueueFull, "only 2 could be dropped", "higher priority are kept")
	want(b, "waiting after refusals", waitingIn(b, "narrow"), 3)
	want(b, "dropped in all", b.count(`select count(*) from belfry.jobs_done where reason = 'dropped'`), 3)

	// An older job counts and is dropped in order, and one that waits for a limit leaves it.
	later := narrow(0)
	bound(b, "narrow", 1, "")
	bound(b, "narrow", 4, job.OnFullDropOldest)
	later.Delay = core.Duration(time.Hour)
	put := b.enqueue(later)
	ok(b, askFor(b, 1, narrow(1)))
	b.wantState(put.ID, job.Skipped)

	// A dropped job frees its active key.
	held := narrow(0)
	held.ActiveKey = "k"
	bound(b, "narrow", 5, job.OnFullDropOldest)
	keyed := b.enqueue(held)
	ok(b, askFor(b, 1, narrow(3)))
	b.wantState(keyed.ID, job.Skipped)
	held.Priority = narrow(3).Priority
	want(b, "made again", b.ask(held).Existing, false)
}

func boundKeeps(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts, t.Retry.Delay = 3, core.Duration(time.Hour) })
	bound(b, "narrow", 2, job.OnFullDropOldest)
	s := b.session("t")
	claim := func(n int) []job.LeasedJob {
		return must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"narrow": n}}))(b).Jobs
	}
	runs, retries := b.enqueue(narrow(0)), b.enqueue(narrow(0))
	leased := claim(2)
	b.finish(s, leased[1], job.OutcomeError)
	b.wantState(retries.ID, job.Scheduled)
	waits := b.enqueue(narrow(0))
	newer := b.enqueue(narrow(0))
	b.wantState(runs.ID, job.Running)
	b.wantState(retries.ID, job.Scheduled)
	b.wantState(waits.ID, job.Skipped)
	b.wantState(newer.ID, job.Ready)
	wantCode(b, askFor(b, 1, narrow(-1)), core.QueueFull, "1 more asked for, and only 0 could be dropped")
	wantCode(b, askFor(b, 2, narrow(0)), core.QueueFull, "only 1 could be dropped")
	b.wantState(newer.ID, job.Ready)
	b.finish(s, leased[0], job.OutcomeOK)
	b.wantState(runs.ID, job.Succeeded)
}

func boundAndKeys(b *bench) {
	for _, full := range job.OnFulls {
		name := "q-" + strings.ReplaceAll(string(full), "_", "-")
		b.task("t-" + name)
		bound(b, name, 2, full)
		like := job.NewJob{Task: "t-" + name, Queue: name}
		keyed, active := like, like
		keyed.Key, active.ActiveKey = "k"+name, "a"+name
		first, second := b.ask(keyed), b.ask(active)
		for range 3 {
			want(b, "the job of the key", b.ask(keyed).Job.ID, first.Job.ID)
			want(b, "the job of the active key", b.ask(active).Job.ID, second.Job.ID)
		}
		b.wantState(first.Job.ID, job.Ready)
		b.wantState(second.Job.ID, job.Ready)
	}
}

func boundLetsIn(b *bench) {
	g := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "a", Task: "a"}, {Name: "b", Task: "b", Needs: []string{"a"}}, {Name: "c", Task: "c", Needs: []string{"a"}}}})
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	bound(b, "default", 1, "")
	ok(b, askFor(b, 1, job.NewJob{Task: "t"}))
	g.run("w", "") // the run is no job of the queue, but its steps are
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.QueueFull)
	s := b.session("t", "a")
	l := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 5}}))(b)
	want(b, "a job and the first step", len(l.Jobs), 2)
	for _, j := range l.Jobs {
		if j.Job.Task == "a" {
			b.finish(s, j, job.OutcomeOK)
		} else {
			b.finish(s, j, job.OutcomeError)
			b.wantState(j.Job.ID, job.Failed)
			g.engine()
			b.retry(j.Job.ID)
			b.wantState(j.Job.ID, job.Ready)
		}
	}
	g.engine()
	want(b, "steps that follow", b.count(`select count(*) from belfry.jobs where task in ('b', 'c')`), 2)
	want(b, "jobs that may be dropped", b.count(`select count(*) from belfry.jobs where bounded = 1`), 0)
	want(b, "jobs that count", b.count(`select count(*) from belfry.jobs where bounded = 2`), 3)
	b.clock.Move(6 * time.Second)
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.QueueFull, "3 of 1 jobs wait")
	bound(b, "default", 1, job.OnFullDropOldest)
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.QueueFull, "only 0 could be dropped")
}

func boundAndSchedules(b *bench) {
	bound(b, "narrow", 2, "")
	b.task("t", func(t *task.Task) { t.Queue = "narrow" })
	for _, name := range []string{"tick", "tock", "tuck"} {
		b.schedule(name, "t", every(time.Minute), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	}
	b.schedule("loop", "t", afterFinish(time.Minute))
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "jobs", waitingIn(b, "narrow"), 2)
	want(b, "skipped", b.count(`select count(*) from belfry.occurrences where decision = 'skipped' and reason = 'queue_full'`), 2)
	want(b, "note", b.count(`select count(*) from belfry.occurrences where note = 'queue narrow has 2 jobs waiting of at most 2'`), 2)
	for range 9 {
		b.clock.Move(time.Minute)
		b.fire()
	}
	want(b, "jobs", waitingIn(b, "narrow"), 2)
	wantCode(b, func() error { _, err := b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{}); return err }(), core.QueueFull, "narrow")

	f := must(b.st.StartBackfill(b.ctx, schedule.Backfill{Schedule: "tick", From: Epoch.Add(time.Minute), To: Epoch.Add(10 * time.Minute), Overlap: schedule.OverlapAllow}))(b)
	must(b.st.Refill(b.ctx))(b)
	want(b, "jobs while there is no room", waitingIn(b, "narrow"), 2)
	bound(b, "narrow", 6, job.OnFullDropOldest)
	must(b.st.Refill(b.ctx))(b)
	want(b, "jobs with room for four", waitingIn(b, "narrow"), 6)
	must(b.st.Refill(b.ctx))(b)
	want(b, "a backfill drops nothing", b.count(`select count(*) from belfry.jobs_done where reason = 'dropped'`), 0)
	want(b, "state of the backfill", must(b.st.Backfill(b.ctx, "default", f.ID))(b).State, schedule.BackfillActive)

	// A full queue that drops its oldest jobs does so for runs of schedules, and no run is lost.
	for range 5 {
		before := b.count(`select coalesce(max(id), 0) from belfry.jobs`)
		b.clock.Move(time.Minute)
		b.fire()
		want(b, "waiting jobs", waitingIn(b, "narrow"), 6)
		want(b, "new runs are there", b.count(fmt.Sprintf(`select count(*) from belfry.jobs where id > %d`, before)) >= 3, true)
	}
	want(b, "dropped", b.count(`select count(*) from belfry.jobs_done where reason = 'dropped'`) >= 15, true)
	want(b, "dropped jobs in another state than skipped", b.count(`select count(*) from belfry.jobs_done where reason = 'dropped' and state <> 'skipped'`), 0)
	for _, name := range []string{"tick", "tock", "tuck", "loop"} {
		want(b, "state of "+name, b.get(name).State, schedule.Active)
	}
	want(b, "the loop goes on", b.count(`select count(*) from belfry.schedules s where s.name = 'loop' and (s.next_at > 0 or exists (select 1 from belfry.jobs j where j.schedule_id = s.id))`), 1)
	bound(b, "narrow", 0, "")
	must(b.st.Refill(b.ctx))(b)
	must(b.st.Refill(b.ctx))(b)
	want(b, "state of the backfill", must(b.st.Backfill(b.ctx, "default", f.ID))(b).State, schedule.BackfillCompleted)
}

func boundBelowWhatWaits(b *bench) {
	b.task("t")
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "narrow"}))(b)
	ok(b, askFor(b, 700, narrow(0)))
	bound(b, "narrow", 4, "")
	wantCode(b, askFor(b, 1, narrow(0)), core.QueueFull)
	want(b, "jobs", waitingIn(b, "narrow"), 700)
	bound(b, "narrow", 10, job.OnFullDropOldest)
	ok(b, askFor(b, 1, narrow(0)))
	want(b, "a step", waitingIn(b, "narrow"), 200)
	ok(b, askFor(b, 1, narrow(0)))
	want(b, "the bound", waitingIn(b, "narrow"), 10)
	ok(b, askFor(b, 10, narrow(0)))
	want(b, "the bound", waitingIn(b, "narrow"), 10)

	// Jobs that another node created before it knew of the bound.
	bound(b, "narrow", 0, "")
	ok(b, askFor(b, 5, narrow(0)))
	bound(b, "narrow", 15, "")
	wantCode(b, askFor(b, 1, narrow(0)), core.QueueFull, "15 of 15")
	b.clock.Move(time.Minute)
	wantCode(b, askFor(b, 1, narrow(0)), core.QueueFull, "15 of 15")
	bound(b, "narrow", 16, "")
	letIn(b, 1, narrow(0))
	want(b, "jobs that do not count", b.count(`select count(*) from belfry.jobs where bounded = 0`), 0)
}

func boundsThatCannotBe(b *bench) {
	for field, q := range map[string]job.Queue{
		"max_waiting":    {MaxWaiting: -1},
		"0 to 100000":    {MaxWaiting: job.MaxMaxWaiting + 1},
		"over 10000":     {MaxWaiting: job.MaxDropWaiting + 1, OnFull: job.OnFullDropOldest},
		"needs a bound":  {OnFull: job.OnFullDropOldest},
		"refuse, drop_o": {MaxWaiting: 5, OnFull: "explode"},
	} {
		q.Name = "narrow"
		_, err := b.st.SaveQueue(b.ctx, q)
		wantCode(b, err, core.Invalid, field)
	}
	_, err := b.st.SaveQueue(b.ctx, job.Queue{Name: task.ChecksQueue, MaxWaiting: 5})
	wantCode(b, err, core.Invalid, "Belfry's own work")
	q := must(b.st.SaveQueue(b.ctx, job.Queue{Name: "narrow", MaxWaiting: 5}))(b)
	want(b, "on_full", q.OnFull, job.OnFullRefuse)
	exported := must(b.st.Export(b.ctx, ""))(b).Queues
	kept := slices.IndexFunc(exported, func(q job.Queue) bool { return q.Name == "narrow" })
	want(b, "bound in the export", fmt.Sprint(exported[kept].MaxWaiting, exported[kept].OnFull), "5refuse")
	ok(b, b.st.DeleteQueue(b.ctx, "narrow"))
	want(b, "rows of bounds", b.count(`select count(*) from belfry.queue_bounds`), 0)
}

// crowdInto enqueues from all nodes at once. It returns the number of admitted jobs and of rejected batches.
func crowdInto(b *bench, nodes []*store.Store, callers int) (let, refused int64) {
	var in, out atomic.Int64
	b.crowd(nodes, callers, func(ctx context.Context, st *store.Store, i int) error {
		for n := range 5 {
			ns := make([]job.NewJob, n+1)
			for k := range ns {
				ns[k] = narrow(0)
				ns[k].Input = json.RawMessage(`"mine"`)
			}
			switch _, err := st.Enqueue(ctx, ns); {
			case err == nil:
				in.Add(int64(len(ns)))
			case core.CodeOf(err) == core.QueueFull:
				out.Add(1)
			default:
				return fmt.Errorf("caller %d: %w", i, err)
			}
		}
		return nil
	})
	return in.Load(), out.Load()
}

func boundOverNodes(b *bench, nodes []*store.Store) {
	b.task("t")
	bound(b, "narrow", 50, "")
	let, refused := crowdInto(b, nodes, 20)
	want(b, "jobs", waitingIn(b, "narrow"), let)
	if let > 50 || let < 46 || refused == 0 {
		b.Fatalf("got %d admitted jobs and %d rejected batches, want 46 to 50 jobs and at least 1 batch", let, refused)
	}
}

func boundDropsOverNodes(b *bench, nodes []*store.Store) {
	b.task("t")
	bound(b, "narrow", 50, job.OnFullDropOldest)
	let, refused := crowdInto(b, nodes, 10)
	want(b, "refused", refused, 0)
	want(b, "waiting jobs", waitingIn(b, "narrow"), 50)
	want(b, "dropped", b.count(`select count(*) from belfry.jobs_done where reason = 'dropped'`), let-50)
}
