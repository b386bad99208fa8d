package storetest

import (
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

func init() {
	add("a task is created, read, edited and deleted, and an edit of nothing is none", func(b *bench) {
		t := b.task("t", func(t *belfry.Task) { t.Tags = []string{"a"}; t.Description = "first" })
		want(b, "generation", t.Generation, 1)
		want(b, "row", jsonOf(must(b.st.Task(b.ctx, "default", "t"))(b)), jsonOf(t))
		b.clock.Move(time.Minute)
		same := must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "t", Tags: []string{"a"}, Description: "first", Retry: belfry.Retry{Jitter: -1}}))(b)
		want(b, "edit of nothing", jsonOf(same), jsonOf(t))
		edited := must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "t", Description: "second"}))(b)
		if edited.Generation != 2 || edited.ID != t.ID || !edited.CreatedAt.Equal(Epoch) || !edited.UpdatedAt.Equal(Epoch.Add(time.Minute)) {
			b.Fatalf("%+v", edited)
		}
		want(b, "row", jsonOf(must(b.st.Task(b.ctx, "default", "t"))(b)), jsonOf(edited))
		_, err := b.st.CreateTask(b.ctx, belfry.Task{Name: "t"})
		wantCode(b, err, belfry.Conflict, "t")
		_, err = b.st.UpdateTask(b.ctx, belfry.Task{Name: "nobody"})
		wantCode(b, err, belfry.NotFound, "nobody")
		_, err = b.st.CreateTask(b.ctx, belfry.Task{Name: "bad", Kind: "cobol"})
		wantCode(b, err, belfry.Invalid, "kind", "cobol")
		ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
		wantCode(b, b.st.DeleteTask(b.ctx, "default", "t"), belfry.NotFound, "t")
		_, err = b.st.Task(b.ctx, "default", "t")
		wantCode(b, err, belfry.NotFound, "t")
	})

	add("a task that a schedule runs is not deleted", func(b *bench) {
		b.task("t")
		b.schedule("s", "t", every(time.Hour))
		wantCode(b, b.st.DeleteTask(b.ctx, "default", "t"), belfry.Conflict, `schedule "s"`)
		ok(b, b.st.DeleteSchedule(b.ctx, "default", "s"))
		ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
	})

	add("deleting a task withdraws what waits, and what runs is not retried", func(b *bench) {
		b.task("t", func(t *belfry.Task) { t.Retry.MaxAttempts = 9 })
		b.enqueue(belfry.NewJob{Task: "t"})
		b.enqueue(belfry.NewJob{Task: "t"})
		b.enqueue(belfry.NewJob{Task: "t"})
		s := b.session("t")
		running, handed := b.claim(s, 1).Jobs[0], b.claim(s, 1).Jobs[0]
		waits := b.enqueue(belfry.NewJob{Task: "t", Delay: belfry.Duration(time.Hour)})
		ok(b, b.st.DeleteTask(b.ctx, "default", "t"))
		j := b.wantState(waits.ID, belfry.JobSkipped)
		if j.Reason != belfry.ReasonDeleted || !strings.Contains(j.Note, "t deleted") {
			b.Fatalf("%+v", j)
		}
		want(b, "the running one", b.finish(s, running, belfry.OutcomeError).State, belfry.JobFailed)
		want(b, "handed back", b.finish(s, handed, belfry.OutcomeHandedBack).State, belfry.JobReady)
		want(b, "claimed", len(b.claim(s, 5).Jobs), 0)
		want(b, "ends at the claim", b.wantState(handed.Job.ID, belfry.JobCanceled).Reason, belfry.ReasonDeleted)
		left := b.redrive(waits.ID).Left
		if !strings.Contains(left[waits.ID], "deleted") {
			b.Fatalf("%+v", left)
		}
	})

	add("a job runs under the task as it is at the claim, of whatever kind that is", func(b *bench) {
		b.task("t")
		j := b.enqueue(belfry.NewJob{Task: "t"})
		must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "t", Command: &belfry.Command{Argv: []string{"date"}}, Retry: belfry.Retry{Jitter: -1}}))(b)
		want(b, "a func worker gets it", len(b.claim(b.session("t"), 1).Jobs), 0)
		shell := must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindCommand}, Queues: map[string]int{"default": 1}}))(b)
		c := b.claim(shell, 1)
		want(b, "claimed", len(c.Jobs), 1)
		got := c.Jobs[0]
		if got.Job.ID != j.ID || got.Job.Kind != belfry.KindCommand || got.Task.Command.Argv[0] != "date" || got.Task.Generation != 2 {
			b.Fatalf("%+v", got)
		}
		must(b.st.UpdateTask(b.ctx, belfry.Task{Name: "t", HTTP: &belfry.HTTP{URL: "https://example.org/"}, Retry: belfry.Retry{Jitter: -1}}))(b)
		want(b, "what runs keeps its kind", b.job(j.ID).Kind, belfry.KindCommand)
		want(b, "and is retried under the new one", b.finish(shell, got, belfry.OutcomeError).State, belfry.JobScheduled)
		b.clock.Move(time.Minute)
		b.promote()
		b.renew(shell)
		want(b, "by its old kind", len(b.claim(shell, 1).Jobs), 0)
		web := must(b.st.OpenSession(b.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindHTTP}, Queues: map[string]int{"default": 1}}))(b)
		want(b, "by its new kind", len(b.claim(web, 1).Jobs), 1)
	})

	add("a session makes the tasks of its handlers, once", func(b *bench) {
		b.task("there", func(t *belfry.Task) { t.Description = "mine" })
		errs := make([]error, 6)
		together(len(errs), func(i int) {
			_, errs[i] = b.st.OpenSession(b.ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"there", "fresh"}, Queues: map[string]int{"default": 1}})
		})
		for _, err := range errs {
			ok(b, err)
		}
		want(b, "tasks", b.count(`select count(*) from belfry.tasks`), 2)
		want(b, "kept", must(b.st.Task(b.ctx, "default", "there"))(b).Description, "mine")
	})
}
