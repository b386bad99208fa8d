package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a task is created, read, edited and deleted, and an edit of nothing is none", caseATaskIsCreated)
	add("a task that a schedule runs is not deleted", caseATaskThatAScheduleRunsIsNotDeleted)
	add("deleting a task withdraws what waits, and what runs is not retried", caseDeletingATaskWithdrawsWhatWaits)
	add("a job runs under the task as it is at the claim, of whatever kind that is", caseAJobRunsUnderTheTaskAsItIs)
	add("a session makes the tasks of its handlers, once", caseASessionMakesTheTasksOfItsHandlers)
}

func caseATaskIsCreated(b *bench) {
	t := b.task("t", func(t *task.Task) { t.Tags = []string{"a"}; t.Description = "first" })
	want(b, "generation", t.Generation, 1)
	want(b, "row", jsonOf(must(b.st.Task(b.ctx, "default", "t"))(b)), jsonOf(t))
	b.clock.Move(time.Minute)
	same := must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", Tags: []string{"a"}, Description: "first", Retry: task.Retry{Jitter: -1}}))(b)
	want(b, "edit of nothing", jsonOf(same), jsonOf(t))
	edited := must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", Description: "second"}))(b)
	if edited.Generation != 2 || edited.ID != t.ID || !edited.CreatedAt.Equal(Epoch) || !edited.UpdatedAt.Equal(Epoch.Add(time.Minute)) {
		b.Fatalf("edited task: got %+v, want generation 2 under the same id", edited)
	}
	want(b, "row", jsonOf(must(b.st.Task(b.ctx, "default", "t"))(b)), jsonOf(edited))
	_, err := b.st.CreateTask(b.ctx, task.Task{Name: "t"})
	wantCode(b, err, core.Conflict, "t")
	_, err = b.st.UpdateTask(b.ctx, task.Task{Name: "nobody"})
	wantCode(b, err, core.NotFound, "nobody")
	_, err = b.st.CreateTask(b.ctx, task.Task{Name: "bad", Kind: "cobol"})
	wantCode(b, err, core.Invalid, "kind", "cobol")
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	wantCode(b, b.st.DeleteTask(b.ctx, "default", "t"), core.NotFound, "t")
	_, err = b.st.Task(b.ctx, "default", "t")
	wantCode(b, err, core.NotFound, "t")
}

func caseATaskThatAScheduleRunsIsNotDeleted(b *bench) {
	b.task("t")
	b.schedule("s", "t", every(time.Hour))
	wantCode(b, b.st.DeleteTask(b.ctx, "default", "t"), core.Conflict, `schedule "s"`)
	ok(b, b.st.DeleteSchedule(b.ctx, "default", "s"))
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
}

func caseDeletingATaskWithdrawsWhatWaits(b *bench) {
	b.task("t", func(t *task.Task) { t.Retry.MaxAttempts = 9 })
	b.enqueue(job.NewJob{Task: "t"})
	b.enqueue(job.NewJob{Task: "t"})
	b.enqueue(job.NewJob{Task: "t"})
	s := b.session("t")
	running, handed := b.claim(s, 1).Jobs[0], b.claim(s, 1).Jobs[0]
	waits := b.enqueue(job.NewJob{Task: "t", Delay: core.Duration(time.Hour)})
	ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	j := b.wantState(waits.ID, job.Skipped)
	if j.Reason != schedule.ReasonDeleted || !strings.Contains(j.Note, "t deleted") {
		b.Fatalf("withdrawn job: got %+v, want the reason deleted", j)
	}
	want(b, "the running one", b.finish(s, running, job.OutcomeError).State, job.Failed)
	want(b, "handed back", b.finish(s, handed, job.OutcomeHandedBack).State, job.Ready)
	want(b, "claimed", len(b.claim(s, 5).Jobs), 0)
	want(b, "ends at the claim", b.wantState(handed.Job.ID, job.Canceled).Reason, schedule.ReasonDeleted)
	left := b.retry(waits.ID).Left
	if !strings.Contains(left[waits.ID], "deleted") {
		b.Fatalf("reasons not to retry: got %+v, want \"deleted\"", left)
	}
}

func caseAJobRunsUnderTheTaskAsItIs(b *bench) {
	b.task("t")
	j := b.enqueue(job.NewJob{Task: "t"})
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", Command: &task.Command{Argv: []string{"date"}}, Retry: task.Retry{Jitter: -1}}))(b)
	want(b, "a func worker gets it", len(b.claim(b.session("t"), 1).Jobs), 0)
	shell := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindCommand}, Queues: map[string]int{"default": 1}}))(b)
	c := b.claim(shell, 1)
	want(b, "claimed", len(c.Jobs), 1)
	got := c.Jobs[0]
	if got.Job.ID != j.ID || got.Job.Kind != task.KindCommand || got.Task.Command.Argv[0] != "date" || got.Task.Generation != 2 {
		b.Fatalf("claimed job: got %+v, want the edited task", got)
	}
	must(b.st.UpdateTask(b.ctx, task.Task{Name: "t", HTTP: &task.HTTP{URL: "https://example.org/"}, Retry: task.Retry{Jitter: -1}}))(b)
	want(b, "kind of the running job", b.job(j.ID).Kind, task.KindCommand)
	want(b, "state after its failure", b.finish(shell, got, job.OutcomeError).State, job.Scheduled)
	b.clock.Move(time.Minute)
	b.promote()
	b.renew(shell)
	want(b, "by its old kind", len(b.claim(shell, 1).Jobs), 0)
	web := must(b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{"default": 1}}))(b)
	want(b, "by its new kind", len(b.claim(web, 1).Jobs), 1)
}

func caseASessionMakesTheTasksOfItsHandlers(b *bench) {
	b.task("there", func(t *task.Task) { t.Description = "mine" })
	errs := make([]error, 6)
	together(len(errs), func(i int) {
		_, errs[i] = b.st.OpenSession(b.ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"there", "fresh"}, Queues: map[string]int{"default": 1}})
	})
	for _, err := range errs {
		ok(b, err)
	}
	want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 2)
	want(b, "kept", must(b.st.Task(b.ctx, "default", "there"))(b).Description, "mine")
}
