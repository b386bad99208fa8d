package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/workflow"
)

func init() {
	add("a retry of a workflow takes the place of its failed step in the sequence that this stopped", workflowSequence)
	add("a retry of a workflow takes the place of a failed step of a workflow within it", workflowSequenceWithin)
	add("a retried run that succeeds without its failed step lets the sequence of that go on", workflowSequenceLeft)
}

// stoppedBy fails unless a job, or a run, stops the only sequence, and returns what is said of a job that waits for it.
func (f *workflowBench) stoppedBy(id, waits int64) string {
	f.Helper()
	want(f, "sequences that it stops", f.count(`select count(*) from belfry.limit_keys where stopped_by = $1`, id), 1)
	w := must(f.st.Why(f.ctx, "default", waits))(f)
	return fmt.Sprint(w.Summary, w.Next)
}

func inRow(t *task.Task) {
	t.Sequence, t.Retry.MaxAttempts = &flow.Sequence{Key: "input.customer", OnFailure: flow.SequenceStops}, 1
}

func workflowSequence(b *bench) {
	b.task("a", inRow)
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "first", Task: "b"}, {Name: "row", Task: "a", Needs: []string{"first"}}}})
	run := f.run("order", "")
	f.works(func(j job.Job, fin *job.Finish) {
		if j.Task == "a" {
			fin.Outcome = job.OutcomeError
		}
	})
	f.wantState(run.ID, job.Failed)
	failed := must(f.st.WorkflowRun(f.ctx, "default", run.ID))(f).Run.Steps[1].JobID
	want(f, "note of the failed step", f.job(failed).Note, "its sequence is stopped: retry its workflow, or go on without it by belfry task resume a KEY")
	other := f.enqueue(job.NewJob{Task: "a"}).ID
	next := fmt.Sprintf("belfry workflow retry %d; or go on without it: belfry task resume a", run.ID)
	if got := f.stoppedBy(failed, other); !strings.Contains(got, next) || strings.Contains(got, "job retry") {
		f.Fatalf("why of a job behind the failed step: got %q, want %q", got, next)
	}

	must(f.st.RetryWorkflow(f.ctx, "default", run.ID, workflow.Retrying{From: "first"}))(f)
	f.engine()
	if got := f.stoppedBy(run.ID, other); !strings.Contains(got, fmt.Sprintf("a step of run %d failed, and the sequence waits for its retry", run.ID)) {
		f.Fatalf("why of a job behind a run that is retried: got %q", got)
	}
	want(f, "note of the failed step", f.job(failed).Note, flow.TakenOverNote)
	f.finish(f.session, f.claim(f.session, 10).Jobs[0], job.OutcomeOK)
	f.engine()
	again := must(f.st.WorkflowRun(f.ctx, "default", run.ID))(f).Run.Steps[1].JobID
	f.finish(f.session, f.next(f.session, again)[0], job.OutcomeOK)
	f.wantState(run.ID, job.Succeeded)
	f.promote()
	f.finish(f.session, f.next(f.session, other)[0], job.OutcomeOK)
	want(f, "sequences that are stopped", f.count(`select count(*) from belfry.limit_keys where stopped_by > 0`), 0)
}

func workflowSequenceWithin(b *bench) {
	b.task("a", inRow)
	f := newGraph(b, "inner", task.Workflow{Steps: []task.Step{{Name: "row", Task: "a"}}})
	must(f.st.CreateTask(f.ctx, task.Task{Name: "outer", Workflow: &task.Workflow{Steps: []task.Step{{Name: "in", Task: "inner"}}}}))(f)
	run := f.run("outer", "")
	f.works(func(_ job.Job, fin *job.Finish) { fin.Outcome = job.OutcomeError })
	f.wantState(run.ID, job.Failed)
	other := f.enqueue(job.NewJob{Task: "a"}).ID
	f.retry(run.ID)
	f.works(nil)
	f.wantState(run.ID, job.Succeeded)
	f.promote()
	f.works(nil)
	f.wantState(other, job.Succeeded)
}

func workflowSequenceLeft(b *bench) {
	b.task("a", inRow)
	f := newGraph(b, "order", task.Workflow{Steps: []task.Step{{Name: "row", Task: "a", Input: map[string]string{"customer": "input.customer"}}}})
	run := f.run("order", `{"customer":"x"}`)
	f.works(func(_ job.Job, fin *job.Finish) { fin.Outcome = job.OutcomeError })
	other := f.enqueue(job.NewJob{Task: "a", Input: json.RawMessage(`{"customer":"x"}`)}).ID
	must(f.st.RetryWorkflow(f.ctx, "default", run.ID, workflow.Retrying{Input: json.RawMessage(`{"customer":"y"}`)}))(f)
	f.works(nil)
	f.wantState(run.ID, job.Succeeded)
	f.promote()
	f.works(nil)
	f.wantState(other, job.Succeeded)
}
