package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a workflow run that is retried with a key is not retried again with it", caseAWorkflowRunIsRetriedOnceWithAKey)
	add("a job that is retried with a key is not retried again with it", caseAJobIsRetriedOnceWithAKey)
	addNodes("retries with one key at the same moment are one retry", caseRetriesWithOneKeyAtTheSameMoment)
}

func caseAWorkflowRunIsRetriedOnceWithAKey(b *bench) {
	f := newGraph(b, "w", task.Workflow{Steps: []task.Step{step("one", "a"), step("two", "b", "one")}})
	j := f.run("w", "1")
	f.works(failing("b"))
	b.wantState(j.ID, job.Failed)
	retry := func(r workflow.Retrying) bool {
		return must(b.st.RetryWorkflow(b.ctx, core.AnyNamespace, j.ID, r))(b)
	}
	want(b, "the first is a repeat", retry(workflow.Retrying{Key: "k", Note: "once"}), false)
	want(b, "a repeat before the run begins", retry(workflow.Retrying{Key: "k"}), true)
	f.engine()
	want(b, "a repeat while the run is under way", retry(workflow.Retrying{Key: "k"}), true)
	f.works(failing("b"))
	b.wantState(j.ID, job.Failed)
	want(b, "a repeat after the run ended", retry(workflow.Retrying{Key: "k"}), true)
	want(b, "retries", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Retries, 1)
	b.wantState(j.ID, job.Failed)
	audit := must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "job", Name: fmt.Sprint(j.ID)}))(b).Items
	want(b, "retries in the audit", len(slices.DeleteFunc(audit, func(e access.Audit) bool { return e.Action != "retry" })), 1)
	// Another retry with the key is refused, and a refused one leaves no key.
	for _, r := range []workflow.Retrying{{From: "two", Key: "k"}, {Input: json.RawMessage("2"), Key: "k"}} {
		wantCode(b, retryRun(b, j.ID, r), core.Conflict, `idempotency key "k" belongs to another retry`, "use another key")
	}
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{From: "nine", Key: "new"}), core.Invalid)
	wantCode(b, retryRun(b, j.ID, workflow.Retrying{Key: strings.Repeat("k", core.MaxKey+1)}), core.Invalid, "key")
	_, err := b.st.RetryWorkflow(b.ctx, "other", j.ID, workflow.Retrying{Key: "k"})
	wantCode(b, err, core.NotFound)
	want(b, "another key", retry(workflow.Retrying{From: "one", Input: json.RawMessage(`{"a": 1, "b": 2}`), Key: "new"}), false)
	want(b, "the same input in other words", retry(workflow.Retrying{From: "one", Input: json.RawMessage(`{"b":2,"a":1}`), Key: "new"}), true)
	f.works(failing("b"))
	// The key is forgotten after a day.
	f.clock.Move(job.DefaultKeyWindow.D())
	want(b, "after a day", retry(workflow.Retrying{Key: "k"}), false)
	f.works(failing("b"))
	want(b, "retries", must(b.st.WorkflowRun(b.ctx, "default", j.ID))(b).Run.Retries, 3)
	// A retry of the run's job without settings is the same request.
	out := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{j.ID}, Key: "k"}))(b)
	want(b, "the job of the run", fmt.Sprint(out.IDs, out.Existing), fmt.Sprint([]int64{}, []int64{j.ID}))
}

func caseAJobIsRetriedOnceWithAKey(b *bench) {
	b.task("t", attempts(1))
	s := b.session("t")
	fail := func() {
		for _, r := range b.claim(s, 10).Jobs {
			b.finish(s, r, job.OutcomeError)
		}
	}
	one, two := b.enqueue(job.NewJob{Task: "t", Key: "k"}).ID, b.enqueue(job.NewJob{Task: "t"}).ID
	fail()
	retry := func(want string, sel view.Selection) {
		b.Helper()
		out := must(b.st.RetryJobs(b.ctx, "default", sel))(b)
		if got := fmt.Sprint("done ", out.IDs, " existing ", out.Existing, " left ", out.Left); got != want {
			b.Fatalf("retry of %v: got %s, want %s", sel.IDs, got, want)
		}
	}
	text := func(done, existing []int64) string {
		return fmt.Sprint("done ", done, " existing ", existing, " left map[]")
	}
	retry(text([]int64{one}, []int64{}), view.Selection{IDs: []int64{one}, Key: "k"})
	retry(text([]int64{}, []int64{one}), view.Selection{IDs: []int64{one}, Key: "k"})
	fail()
	b.wantState(one, job.Failed)
	retry(text([]int64{two}, []int64{one}), view.Selection{IDs: []int64{one, two}, Key: "k", DryRun: true})
	retry(text([]int64{two}, []int64{one}), view.Selection{IDs: []int64{one, two}, Key: "k"})
	b.wantState(one, job.Failed)
	fail()
	retry(text([]int64{}, []int64{one, two}), view.Selection{Filter: &job.Filter{}, Key: "k"})
	retry(text([]int64{one, two}, []int64{}), view.Selection{Filter: &job.Filter{}, Key: "other"})
	fail()
	// A job that could not be retried does not use up the key.
	held := b.enqueue(job.NewJob{Task: "t", ActiveKey: "a"}).ID
	fail()
	holder := b.enqueue(job.NewJob{Task: "t", ActiveKey: "a"}).ID
	out := must(b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{held}, Key: "k"}))(b)
	want(b, "left", out.Left[held], "another live job has its active key")
	b.cancel(holder)
	retry(text([]int64{held}, []int64{}), view.Selection{IDs: []int64{held}, Key: "k"})
	_, err := b.st.RetryJobs(b.ctx, "default", view.Selection{IDs: []int64{held}, Key: strings.Repeat("k", core.MaxKey+1)})
	wantCode(b, err, core.Invalid, "key")
	_, err = b.st.CancelJobs(b.ctx, "default", view.Selection{IDs: []int64{held}, Key: "k"})
	wantCode(b, err, core.Invalid, "is for retries")
}

func caseRetriesWithOneKeyAtTheSameMoment(b *bench, nodes []*store.Store) {
	const each = 5
	b.task("t", attempts(1))
	s := b.session("t")
	for range 4 {
		id := b.enqueue(job.NewJob{Task: "t"}).ID
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
		var back, existing atomic.Int64
		b.crowd(nodes, each, func(ctx context.Context, st *store.Store, _ int) error {
			out, err := st.RetryJobs(ctx, "default", view.Selection{IDs: []int64{id}, Key: "k"})
			back.Add(int64(len(out.IDs)))
			existing.Add(int64(len(out.Existing)))
			for _, why := range out.Left {
				b.Errorf("retry beside another with the same key: left with the reason %q", why)
			}
			return err
		})
		want(b, "brought back", back.Load(), 1)
		want(b, "brought back, or were already", back.Load()+existing.Load(), int64(each*len(nodes)))
		b.finish(s, b.claim(s, 1).Jobs[0], job.OutcomeError)
	}
}
