package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func init() {
	add("inside a queue the higher priority goes first, then who was due first, then who asked first", caseInsideAQueueTheHigherPriorityGoesFirst)
	add("a busy low queue does not delay another, on one worker or on many", caseABusyLowQueueDoesNotDelayAnother)
	add("a global limit is never exceeded, however many claim at once, and a place that is freed is used", caseAGlobalLimitIsNeverExceeded)
	add("a lost worker gives its places under a global limit back", caseALostWorkerGivesItsPlacesUnderAGlobal)
	add("a paused queue gives nothing out, keeps who and why, and gives again when resumed", caseAPausedQueueGivesNothingOut)
	add("a resumed queue wakes waiting claims", caseAResumedQueueWakesThoseWhoWaitForIt)
	add("a queue that is ensured is made with the defaults, and one that is there stays as it is", caseAQueueThatIsEnsuredIsMadeWithThe)
	add("an unknown queue is refused for a task and a job, and left out of a session that has others", caseAnUnknownQueueIsRefusedForATaskAnd)
	add("a queue in use is not deleted, nor one of Belfry's own", caseAQueueInUseIsNotDeleted)
	add("a queue reports its jobs and the oldest of them", caseAQueueSaysWhatIsInItAndSince)
}

func caseInsideAQueueTheHigherPriorityGoesFirst(b *bench) {
	b.task("p")
	ids := map[string]int64{}
	put := func(name string, priority int, due time.Time) {
		b.Helper()
		ids[name] = b.enqueue(job.NewJob{Task: "p", Priority: &priority, DueAt: due}).ID
	}
	put("fourth", 0, Epoch.Add(2*time.Second))
	put("fifth", -5, time.Time{})
	put("third", 0, Epoch.Add(time.Second))
	put("first", 5, Epoch.Add(3*time.Second))
	put("second", 5, Epoch.Add(3*time.Second))
	b.clock.Move(time.Minute)
	b.promote()
	s := b.session("p")
	for _, name := range []string{"first", "second", "third", "fourth", "fifth"} {
		want(b, name, b.claim(s, 1).Jobs[0].Job.ID, ids[name])
	}
}

func caseABusyLowQueueDoesNotDelayAnother(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "low", Priority: -10, GlobalLimit: 2}))(b)
	b.task("p")
	b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "p", Queue: "low"}}, 50))
	s := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"p"},
		Queues: map[string]int{"low": 2, "default": 2}}))(b)
	want(b, "the low one is full", len(must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"low": 10}}))(b).Jobs), 2)
	j := b.enqueue(job.NewJob{Task: "p"})
	c := must(b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"low": 10, "default": 2}}))(b)
	if len(c.Jobs) != 1 || c.Jobs[0].Job.ID != j.ID {
		b.Fatalf("claim: got %+v, want the new job alone", c)
	}
}

func caseAGlobalLimitIsNeverExceeded(b *bench) {
	const limit, jobs, workers = 3, 40, 6
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: limit}))(b)
	b.task("p")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "p"}}, jobs)))(b)
	sessions := make([]job.Session, workers)
	for i := range sessions {
		sessions[i] = b.session("p")
	}
	var running, most, done atomic.Int64
	errs := make([]error, workers)
	together(workers, func(i int) {
		for done.Load() < jobs && errs[i] == nil {
			c, err := b.st.Claim(b.ctx, job.ClaimRequest{Session: sessions[i].ID, Want: map[string]int{"default": 2}})
			if errs[i] = err; err != nil || len(c.Jobs) == 0 {
				continue
			}
			n := running.Add(int64(len(c.Jobs)))
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			fs := make([]job.Finish, len(c.Jobs))
			for k, j := range c.Jobs {
				fs[k] = job.Finish{Ref: refOf(j), Outcome: job.OutcomeOK}
			}
			running.Add(-int64(len(c.Jobs))) // before others can see the free place
			_, errs[i] = b.st.Finish(b.ctx, sessions[i].ID, fs)
			done.Add(int64(len(c.Jobs)))
		}
	})
	for _, err := range errs {
		ok(b, err)
	}
	want(b, "done", b.count(`select count(*) from belfry.jobs_done where state = 'succeeded'`), jobs)
	if most.Load() > limit {
		b.Fatalf("jobs running at once: got %d, want at most %d", most.Load(), limit)
	}
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: 1}))(b)
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "p"}}, 2)))(b)
	want(b, "under a lower limit", len(b.claim(sessions[0], 5).Jobs), 1)
	want(b, "full", len(b.claim(sessions[1], 5).Jobs), 0)
}

func caseALostWorkerGivesItsPlacesUnderAGlobal(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", GlobalLimit: 1}))(b)
	b.task("p", func(t *task.Task) { t.Retry.MaxAttempts = 1 })
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "p"}}, 2)))(b)
	b.claim(b.session("p"), 1)
	b.clock.Move(lost)
	s := b.session("p")
	want(b, "full", len(b.claim(s, 1).Jobs), 0)
	b.release()
	want(b, "jobs claimed when a slot is free", len(b.claim(s, 1).Jobs), 1)
}

func caseAPausedQueueGivesNothingOut(b *bench) {
	b.task("p")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "p"}}, 2)))(b)
	s := b.session("p")
	running := b.claim(s, 1)
	q := must(b.st.PauseQueue(access.WithActor(b.ctx, "ada"), "default", "rack move"))(b)
	if q.PausedBy != "ada" || q.PausedReason != "rack move" || !q.PausedAt.Equal(Epoch) {
		b.Fatalf("paused queue: got %+v, want who paused it, why and when", q)
	}
	b.clock.Move(time.Second)
	again := must(b.st.PauseQueue(access.WithActor(b.ctx, "eve"), "default", "other"))(b)
	want(b, "second pause keeps the first", base.Text(again), base.Text(q))
	want(b, "claimed", len(b.claim(s, 5).Jobs), 0)
	want(b, "state of the job that ran during the pause", b.finish(s, running.Jobs[0], job.OutcomeOK).State, job.Succeeded)
	q = must(b.st.SaveQueue(b.ctx, job.Queue{Name: "default", Priority: 3}))(b)
	want(b, "an edit keeps the pause", q.PausedReason, "rack move")
	q = must(b.st.ResumeQueue(b.ctx, "default"))(b)
	want(b, "after the resume", q.PausedBy+q.PausedReason, "")
	want(b, "claimed", len(b.claim(s, 5).Jobs), 1)
	_, err := b.st.PauseQueue(b.ctx, "nowhere", "")
	wantCode(b, err, core.NotFound, "nowhere")
	_, err = b.st.PauseQueue(b.ctx, "default", strings.Repeat("x", core.MaxDescription+1))
	wantCode(b, err, core.Invalid, "reason")
}

func caseAResumedQueueWakesThoseWhoWaitForIt(b *bench) {
	b.task("p")
	b.enqueue(job.NewJob{Task: "p"})
	must(b.st.PauseQueue(b.ctx, "default", ""))(b)
	s := b.session("p")
	got := make(chan int, 1)
	go func() {
		c, _ := b.st.Claim(b.ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
		got <- len(c.Jobs)
	}()
	must(b.st.ResumeQueue(b.ctx, "default"))(b)
	want(b, "claimed", <-got, 1)
}

func caseAQueueThatIsEnsuredIsMadeWithThe(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "few", Concurrency: 2}))(b)
	for range 2 {
		ok(b, b.st.EnsureQueues(b.ctx, "few", "new"))
	}
	want(b, "few", must(b.st.Queue(b.ctx, "few"))(b).Concurrency, 2)
	want(b, "new", must(b.st.Queue(b.ctx, "new"))(b).Concurrency, job.DefaultConcurrency)
	want(b, "audit", b.count(`select count(*) from belfry.audit where noun = 'queue' and action = 'create' and name = 'new'`), 1)
	wantCode(b, b.st.EnsureQueues(b.ctx, "no name"), core.Invalid, "name")
}

func caseAnUnknownQueueIsRefusedForATaskAnd(b *bench) {
	_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t", Queue: "nowhere"})
	wantCode(b, err, core.Invalid, "queue", "nowhere", "belfry queue create nowhere")
	b.task("t")
	_, err = b.st.UpdateTask(b.ctx, task.Task{Name: "t", Queue: "nowhere"})
	wantCode(b, err, core.Invalid, "queue", "nowhere")
	_, err = b.st.Enqueue(b.ctx, []job.NewJob{{Task: "t"}, {Task: "t", Queue: "nowhere"}})
	wantCode(b, err, core.Invalid, "queue", "nowhere")
	w := job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Queues: map[string]int{"nowhere": 1}, Funcs: []string{"f", "f"}}
	_, err = b.st.OpenSession(b.ctx, w)
	wantCode(b, err, core.Invalid, "queues", "nowhere", "belfry queue create nowhere")
	_, err = b.st.Task(b.ctx, "default", "f")
	wantCode(b, err, core.NotFound)
	w.Queues["default"] = 1
	s := must(b.st.OpenSession(b.ctx, w))(b)
	must(b.st.Task(b.ctx, "default", "f"))(b)
	want(b, "queues", fmt.Sprint(s.Queues, s.Order), "map[default:1] [default]")
	_, err = b.st.Apply(b.ctx, view.Manifest{Tasks: []task.Task{{Name: "u", Queue: "nowhere"}}}, view.ApplyOptions{})
	wantCode(b, err, core.Invalid, "tasks[0].queue", "nowhere")
	want(b, "jobs", b.count(`select count(*) from belfry.jobs`), 0)
}

func caseAQueueInUseIsNotDeleted(b *bench) {
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "q"}))(b)
	b.task("t", func(t *task.Task) { t.Queue = "q" })
	wantCode(b, b.st.DeleteQueue(b.ctx, "q"), core.Conflict, `task "t"`)
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t"}))(b)
	j := b.enqueue(job.NewJob{Task: "t", Queue: "q"})
	wantCode(b, b.st.DeleteQueue(b.ctx, "q"), core.Conflict, fmt.Sprint("job ", j.ID))
	b.cancel(j.ID)
	ok(b, b.st.DeleteQueue(b.ctx, "q"))
	wantCode(b, b.st.DeleteQueue(b.ctx, "q"), core.NotFound, "q")
	for _, own := range job.FirstQueues() {
		wantCode(b, b.st.DeleteQueue(b.ctx, own.Name), core.Conflict, own.Name)
	}
	left := b.retry(j.ID).Left
	if !strings.Contains(left[j.ID], "queue") {
		b.Fatalf("reason not to retry: got %+v, want the missing queue", left)
	}
	b.wantState(j.ID, job.Canceled)
}

func caseAQueueSaysWhatIsInItAndSince(b *bench) {
	b.task("t")
	must(b.st.Enqueue(b.ctx, slices.Repeat([]job.NewJob{{Task: "t"}}, 3)))(b)
	b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)})
	b.claim(b.session("t"), 1)
	q := must(b.st.Queue(b.ctx, "default"))(b)
	if q.Ready != 2 || q.Scheduled != 1 || q.Running != 1 || !q.OldestAt.Equal(Epoch) {
		b.Fatalf("queue: got %+v, want 2 ready, 1 scheduled and 1 running job", q)
	}
	all := must(b.st.Queues(b.ctx))(b)
	want(b, "queues", len(all), 3)
	want(b, "the highest first", all[0].Name, job.SystemQueue)
	_, err := b.st.Queue(b.ctx, "nowhere")
	wantCode(b, err, core.NotFound, "nowhere")
	_, err = b.st.SaveQueue(b.ctx, job.Queue{Name: "bad", Concurrency: -1})
	wantCode(b, err, core.Invalid, "concurrency")
}
