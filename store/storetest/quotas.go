package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("a quota of waiting jobs refuses a batch as a whole, and running jobs do not count", caseAQuotaOfWaitingJobs)
	add("a key that exists is answered as before when its namespace is full", caseAKeyThatExistsWhenItsNamespaceIsFull)
	add("a rate of enqueueing lets a burst in at once, and then one after the other", caseARateOfEnqueueing)
	add("a full namespace skips runs of its schedules and says so, and holds backfills", caseAFullNamespaceAndItsSchedules)
	add("retries, checks and steps of workflows are never refused by a quota", caseWhatAQuotaNeverRefuses)
	add("a quota below what is used refuses new jobs alone, and jobs from before it count", caseAQuotaBelowWhatIsUsed)
	add("quotas that cannot be are refused by their field", caseQuotasThatCannotBe)
	add("a quota of definitions, monitors and artifacts refuses new ones alone, and an apply as a whole", caseAQuotaOfDefinitions)
	addNodes("nodes that save at the same moment never exceed a quota", caseNodesThatSaveNeverExceedAQuota)
	addNodes("nodes that enqueue at the same moment never exceed a quota", caseNodesNeverExceedAQuota)
	addNodes("a node follows a quota that another has set", caseANodeFollowsAQuota)
}

// setQuota gives a namespace a quota and no other setting.
func setQuota(b *bench, namespace string, q access.Quota) {
	b.Helper()
	must(b.st.SaveNamespace(b.ctx, access.Namespace{Name: namespace, Quota: q}))(b)
}

// settles repeats a call as long as a quota has no room: a count without room is cached for a moment.
func settles(b *bench, fn func() error) {
	b.Helper()
	var err error
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if err = fn(); core.CodeOf(err) != core.OverQuota {
			ok(b, err)
			return
		}
	}
	b.Fatalf("request under a quota with room: %v", err)
}

func askFor(b *bench, n int, like job.NewJob) error {
	ns := make([]job.NewJob, n)
	for i := range ns {
		ns[i] = like
	}
	_, err := b.st.Enqueue(b.ctx, ns)
	return err
}

func caseAQuotaOfWaitingJobs(b *bench) {
	b.task("t")
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: "t", Kind: task.KindFunc}))(b)
	setQuota(b, "default", access.Quota{Waiting: 5})
	s := b.session("t")
	ok(b, askFor(b, 3, job.NewJob{Task: "t"}))
	ok(b, askFor(b, 1, job.NewJob{Task: "t", Delay: core.Duration(time.Hour)}))
	err := askFor(b, 2, job.NewJob{Task: "t"})
	wantCode(b, err, core.OverQuota, `namespace "default" is over its quota waiting: 4 of 5 in use, 2 more asked for`, "belfry namespace set default --max-waiting")
	want(b, "jobs after a refused batch", b.count(`select count(*) from belfry.jobs`), 4)
	want(b, "refusals that were told", b.tally.of("over default waiting"), 1)
	want(b, "faults", b.tally.of("faults"), 0)
	want(b, "asked again after", retryAfter(err), core.Duration(time.Second))
	err = askFor(b, 6, job.NewJob{Task: "t"})
	wantCode(b, err, core.OverQuota, "ask for at most 5 at once")
	want(b, "time after which a batch that never fits is asked for again", retryAfter(err), 0)
	ok(b, askFor(b, 7, job.NewJob{Namespace: "other", Task: "t"}))

	leased := b.claim(s, 2)
	want(b, "leased", len(leased.Jobs), 2)
	settles(b, func() error { return askFor(b, 3, job.NewJob{Task: "t"}) }) // 2 jobs run and 2 wait
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota, "5 of 5 in use")
	b.finish(s, leased.Jobs[0], job.OutcomeOK)
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota, "5 of 5 in use")
	b.cancel(claimable(b, 1)...)
	settles(b, func() error { return askFor(b, 1, job.NewJob{Task: "t"}) })

	setQuota(b, "default", access.Quota{})
	ok(b, askFor(b, 20, job.NewJob{Task: "t"}))
	want(b, "rows of use", b.count(`select count(*) from belfry.quota_use`), 0)
}

// claimable returns ids of waiting jobs.
func claimable(b *bench, n int) (ids []int64) {
	b.Helper()
	for _, j := range must(b.st.Jobs(b.ctx, job.Filter{Namespace: "default"}))(b).Items {
		if j.State == job.Ready && len(ids) < n {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

func caseAKeyThatExistsWhenItsNamespaceIsFull(b *bench) {
	b.task("t")
	setQuota(b, "default", access.Quota{Waiting: 2, EnqueueRate: "2/1h"})
	first := b.ask(job.NewJob{Task: "t", Key: "k"})
	active := b.ask(job.NewJob{Task: "t", ActiveKey: "a"})
	for range 3 {
		again := b.ask(job.NewJob{Task: "t", Key: "k"})
		want(b, "the job of the key", again.Job.ID, first.Job.ID)
		again = b.ask(job.NewJob{Task: "t", ActiveKey: "a"})
		want(b, "the job of the active key", again.Job.ID, active.Job.ID)
	}
	_, err := b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t", ActiveKey: "a"}, {Task: "t", ActiveKey: "b"}})
	wantCode(b, err, core.OverQuota, "waiting")
	want(b, "keys", b.count(`select count(*) from belfry.job_keys`), 1)
}

func caseARateOfEnqueueing(b *bench) {
	b.task("t")
	setQuota(b, "default", access.Quota{EnqueueRate: "60/1m", EnqueueBurst: 3})
	one := job.NewJob{Task: "t"}
	ok(b, askFor(b, 2, one))
	ok(b, askFor(b, 1, one))
	err := askFor(b, 1, one)
	wantCode(b, err, core.OverQuota, `namespace "default" is over its quota enqueue_rate: 60/1m, bursts of 3`, "wait 1s", "--enqueue-rate")
	wantCode(b, askFor(b, 4, one), core.OverQuota, "ask for at most 3 at once")
	b.clock.Move(time.Second)
	ok(b, askFor(b, 1, one))
	wantCode(b, askFor(b, 1, one), core.OverQuota)
	b.clock.Move(2 * time.Second)
	wantCode(b, askFor(b, 3, one), core.OverQuota, "wait 1s")
	ok(b, askFor(b, 2, one))
	let := 0
	for range 600 { // a minute, with ten requests a second
		b.clock.Move(100 * time.Millisecond)
		if askFor(b, 1, one) == nil {
			let++
		}
	}
	want(b, "let in over a minute", let, 60)
}

func caseAFullNamespaceAndItsSchedules(b *bench) {
	b.task("t")
	b.schedule("tick", "t", every(time.Minute), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	b.schedule("tock", "t", every(time.Minute), func(s *schedule.Schedule) { s.Overlap = schedule.OverlapAllow })
	b.schedule("loop", "t", afterFinish(time.Minute))
	setQuota(b, "default", access.Quota{Waiting: 2})
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 2)
	want(b, "skipped", b.count(`select count(*) from belfry.occurrences where decision = 'skipped' and reason = 'quota'`), 1)
	want(b, "note", b.count(`select count(*) from belfry.occurrences where note = 'namespace default has 2 jobs waiting of a quota of 2 jobs'`), 1)
	for range 9 {
		b.clock.Move(time.Minute)
		b.fire()
	}
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 2)
	wantCode(b, func() error { _, err := b.st.TriggerSchedule(b.ctx, "default", "tick", job.RunNow{}); return err }(), core.OverQuota, "waiting")

	f := must(b.st.StartBackfill(b.ctx, schedule.Backfill{Schedule: "tick", From: Epoch.Add(time.Minute), To: Epoch.Add(10 * time.Minute), Overlap: schedule.OverlapAllow}))(b)
	for range 3 {
		must(b.st.Refill(b.ctx))(b)
	}
	want(b, "jobs while there is no room", b.count(`select count(*) from belfry.jobs`), 2)
	setQuota(b, "default", access.Quota{Waiting: 6})
	must(b.st.Refill(b.ctx))(b)
	want(b, "jobs with room for four", b.count(`select count(*) from belfry.jobs`), 6)
	setQuota(b, "default", access.Quota{})
	must(b.st.Refill(b.ctx))(b)
	want(b, "jobs of the backfill", b.count(`select count(*) from belfry.jobs where trigger = 'backfill'`), 10)
	must(b.st.Refill(b.ctx))(b)
	want(b, "state of the backfill", must(b.st.Backfill(b.ctx, "default", f.ID))(b).State, schedule.BackfillCompleted)
	for _, name := range []string{"tick", "tock", "loop"} { // no run is lost
		want(b, "state of "+name, b.get(name).State, schedule.Active)
	}
	before := b.count(`select count(*) from belfry.jobs`)
	b.clock.Move(2 * time.Minute)
	b.fire()
	want(b, "more jobs", b.count(`select count(*) from belfry.jobs`) >= before+2, true)
}

func caseWhatAQuotaNeverRefuses(b *bench) {
	g := newGraph(b, "w", task.Workflow{Steps: []task.Step{{Name: "a", Task: "a"}, {Name: "b", Task: "b", Needs: []string{"a"}}, {Name: "c", Task: "c", Needs: []string{"a"}}}})
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	b.monitor("m")
	setQuota(b, "default", access.Quota{Waiting: 1, EnqueueRate: "1/1h"})
	g.run("w", "")
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota)
	l := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: g.session.ID, Want: map[string]int{"default": 5}}))(b)
	want(b, "first step", len(l.Jobs), 1)
	b.finish(g.session, l.Jobs[0], job.OutcomeOK)
	g.engine()
	want(b, "steps that follow", b.count(`select count(*) from belfry.jobs where task in ('b', 'c')`), 2)
	b.clock.Move(time.Minute)
	b.fire()
	want(b, "checks", b.count(`select count(*) from belfry.jobs where trigger = 'check'`), 1)

	setQuota(b, "default", access.Quota{})
	b.task("u", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	s := b.session("u")
	dead := b.enqueue(job.NewJob{Task: "u"})
	b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	b.wantState(dead.ID, job.Failed)
	setQuota(b, "default", access.Quota{Waiting: 1})
	b.retry(dead.ID)
	b.wantState(dead.ID, job.Ready)
	want(b, "jobs that are not counted", b.count(`select count(*) from belfry.jobs where metered = 0`), 0)
}

func caseAQuotaBelowWhatIsUsed(b *bench) {
	b.task("t")
	ok(b, askFor(b, 10, job.NewJob{Task: "t"}))
	setQuota(b, "default", access.Quota{Waiting: 4})
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota, "10 of 4 in use")
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 10)
	b.cancel(claimable(b, 7)...)
	settles(b, func() error { return askFor(b, 1, job.NewJob{Task: "t"}) })
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota, "4 of 4 in use")

	// A job that another node created before it knew of the quota.
	b.sql(`update belfry.jobs set metered = 0`)
	b.clock.Move(time.Minute)
	wantCode(b, askFor(b, 1, job.NewJob{Task: "t"}), core.OverQuota, "4 of 4 in use")
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 4)
}

func caseQuotasThatCannotBe(b *bench) {
	for field, q := range map[string]access.Quota{
		"quota.waiting":        {Waiting: -1},
		"quota.enqueue_rate":   {EnqueueRate: "many"},
		"quota.enqueue_burst":  {EnqueueBurst: 5},
		"quota.call_rate":      {CallRate: "1/0s"},
		"quota.call_burst":     {CallRate: "1/1s", CallBurst: 100_001},
		"outside 0 to":         {Waiting: access.MaxQuotaWaiting + 1},
		"quota.definitions":    {Definitions: -1},
		"quota.monitors":       {Monitors: 2_000_000},
		"quota.artifact_bytes": {ArtifactBytes: 1 << 60},
		"quota.output_bytes":   {OutputBytes: -1},
		"quota.log_bytes":      {LogBytes: access.MaxQuotaBytes + 1},
		"lets nothing begin":   {EnqueueRate: "0/1m"},
		"is over 10000":        {EnqueueRate: "1000000/1s"},
	} {
		_, err := b.st.SaveNamespace(b.ctx, access.Namespace{Name: "a", Quota: q})
		wantCode(b, err, core.Invalid, field)
	}
	want(b, "namespaces", len(must(b.st.Namespaces(b.ctx))(b)), 0)
}

func caseNodesNeverExceedAQuota(b *bench, nodes []*store.Store) {
	b.task("t")
	setQuota(b, "default", access.Quota{Waiting: 50})
	var let, refused atomic.Int64
	b.crowd(nodes, 20, func(ctx context.Context, st *store.Store, i int) error {
		for n := range 5 {
			ns := make([]job.NewJob, n+1)
			for k := range ns {
				ns[k].Task = "t"
			}
			switch _, err := st.Enqueue(ctx, ns); {
			case err == nil:
				let.Add(int64(len(ns)))
			case core.CodeOf(err) == core.OverQuota:
				refused.Add(1)
			default:
				return fmt.Errorf("caller %d: %w", i, err)
			}
		}
		return nil
	})
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), let.Load())
	if let.Load() > 50 || let.Load() < 46 || refused.Load() == 0 {
		b.Fatalf("got %d admitted jobs and %d rejected batches, want 46 to 50 jobs and at least 1 batch", let.Load(), refused.Load())
	}
}

func caseANodeFollowsAQuota(b *bench, nodes []*store.Store) {
	b.task("t")
	other := nodes[len(nodes)-1]
	one := []job.NewJob{{Task: "t"}}
	must(other.Enqueue(b.ctx, one))(b)
	setQuota(b, "default", access.Quota{Waiting: 2})
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := other.Enqueue(b.ctx, one); core.CodeOf(err) == core.OverQuota {
			break
		} else if err != nil || time.Now().After(until) {
			b.Fatalf("the other node does not reject: %v", err)
		}
	}
	setQuota(b, "default", access.Quota{})
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := other.Enqueue(b.ctx, one); err == nil {
			break
		} else if core.CodeOf(err) != core.OverQuota || time.Now().After(until) {
			b.Fatalf("the other node does not admit: %v", err)
		}
	}
}

func caseAQuotaOfDefinitions(b *bench) {
	make := func(i int) task.Task {
		return task.Task{Name: fmt.Sprint("t", i), Kind: task.KindFunc}
	}
	setQuota(b, "default", access.Quota{Definitions: 3, Monitors: 1, ArtifactBytes: 100})
	b.task("t1")
	b.schedule("s", "t1", every(time.Hour))
	b.monitor("m") // its own task and schedule count too
	b.calendar("c")
	_, err := b.st.CreateTask(b.ctx, make(2))
	wantCode(b, err, core.OverQuota, `namespace "default" is over its quota definitions: 3 of 3 in use, 1 more asked for`, "--max-definitions")
	wantCode(b, b.st.EnsureFuncs(b.ctx, "default", []string{"fresh"}), core.OverQuota)
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "implied", Kind: task.KindFunc}})
	wantCode(b, err, core.OverQuota, "definitions")
	_, err = b.st.CreateMonitor(b.ctx, monitor.Monitor{Name: "n", Heartbeat: &monitor.Heartbeat{}, Every: core.Duration(time.Hour)})
	wantCode(b, err, core.OverQuota, "monitors: 1 of 1 in use")
	want(b, "refusals that were told", b.tally.of("over default definitions"), 3)
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 2)
	want(b, "audit of what was refused", b.count(`select count(*) from belfry.audit where name = 't2'`), 0)
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t1", Kind: task.KindFunc, Priority: 3}))(b)
	must(b.st.CreateTask(b.ctx, task.Task{Namespace: "other", Name: "t", Kind: task.KindFunc}))(b)

	setQuota(b, "default", access.Quota{Definitions: 5})
	many := view.Manifest{Tasks: []task.Task{make(2), make(3), make(4)}}
	_, err = b.st.Apply(b.ctx, many, view.ApplyOptions{Namespace: "default"})
	wantCode(b, err, core.OverQuota, "3 of 5 in use, 3 more asked for")
	want(b, "tasks", b.count(`select count(*) from belfry.tasks where namespace = 'default'`), 2)
	many.Tasks = many.Tasks[:2]
	must(b.st.Apply(b.ctx, many, view.ApplyOptions{Namespace: "default"}))(b)
	setQuota(b, "default", access.Quota{Definitions: 1})
	b.monitor("n")
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t1", Kind: task.KindFunc, Priority: 4}))(b)
	ok(b, b.st.DeleteTask(b.ctx, "default", "t2"))

	setQuota(b, "default", access.Quota{ArtifactBytes: 100})
	artifact := func(digit string, size int64) error {
		_, err := b.st.CreateArtifact(b.ctx, task.Artifact{SHA256: strings.Repeat(digit, 64), Size: size})
		return err
	}
	ok(b, artifact("a", 60))
	wantCode(b, artifact("b", 41), core.OverQuota, "it would have 101 B of 100 B")
	ok(b, artifact("c", 40))
	ok(b, artifact("a", 60)) // a repeated request
	use := must(b.st.QuotaUse(b.ctx, "default"))(b)
	want(b, "use", fmt.Sprint(use), "[{artifact_bytes 100 100}]")
}

func caseNodesThatSaveNeverExceedAQuota(b *bench, nodes []*store.Store) {
	setQuota(b, "default", access.Quota{Definitions: 7})
	var made atomic.Int64
	b.crowd(nodes, 10, func(ctx context.Context, st *store.Store, i int) error {
		_, err := st.CreateTask(ctx, task.Task{Name: fmt.Sprint("t", i), Kind: task.KindFunc})
		if err == nil {
			made.Add(1)
		} else if core.CodeOf(err) == core.OverQuota {
			err = nil
		}
		return err
	})
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 7)
	want(b, "made", made.Load(), 7)
}
