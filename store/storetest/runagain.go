package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func init() {
	add("a finished job is run again as a new one, with the same input or another, and each knows the other", caseAFinishedJobIsRunAgainAsANew)
}

func caseAFinishedJobIsRunAgainAsANew(b *bench) {
	b.task("t", func(t *task.Task) { t.Tags = []string{"of-task"} })
	must(b.st.SaveQueue(b.ctx, job.Queue{Name: "night"}))(b)
	high := 7
	old := b.enqueue(job.NewJob{Task: "t", Input: json.RawMessage(`{"n":1}`), Queue: "night", Priority: &high, MaxAttempts: 4,
		Timeout: task.MinTimeout * 3, Tags: []string{"mine"}, Key: "once", ActiveKey: "one"})
	_, err := b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{})
	wantCode(b, err, core.Conflict, "has not ended")
	b.cancel(old.ID)
	again := must(b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{Note: "once more"}))(b)
	want(b, "existing", again.Existing, false)
	j := must(b.st.Job(b.ctx, "default", again.Job.ID))(b)
	want(b, "settings of the new job", fmt.Sprint(string(j.Input), j.Queue, j.Priority, j.MaxAttempts, j.Timeout, j.Tags, j.Key, j.ActiveKey, j.Trigger, j.State, j.RunAgainOf == old.ID),
		fmt.Sprint(`{"n":1}`, "night", 7, 4, task.MinTimeout*3, []string{"mine"}, "", "", job.TriggerEnqueue, job.Ready, true))
	other := must(b.st.RunJobAgain(b.ctx, core.AnyNamespace, old.ID, job.RunAgain{Input: json.RawMessage(`{"n":2}`), Key: "k"}))(b)
	want(b, "other input", string(other.Job.Input), `{"n":2}`)
	_, err = b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{Input: json.RawMessage(`{"n":3}`), Key: "k"})
	wantCode(b, err, core.Conflict, "idempotency key")
	same := must(b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{Input: json.RawMessage(`{"n":2}`), Key: "k"}))(b)
	want(b, "the key is taken", fmt.Sprint(same.Existing, same.Job.ID == other.Job.ID), "true true")
	want(b, "jobs made from the old one", fmt.Sprint(must(b.st.Job(b.ctx, "default", old.ID))(b).RunAgainAs), fmt.Sprint([]int64{other.Job.ID, again.Job.ID}))
	want(b, "state of the old job", must(b.st.Job(b.ctx, "default", old.ID))(b).State, job.Canceled)
	audit := must(b.st.Audit(b.ctx, access.AuditFilter{Noun: "job", Name: fmt.Sprint(old.ID)}))(b).Items
	want(b, "audit", fmt.Sprint(audit[1].Action, audit[1].Note, string(audit[1].After)), fmt.Sprintf("run-againonce more[%d]", again.Job.ID))
	// In another namespace, of a missing job, with a bad input.
	_, err = b.st.RunJobAgain(b.ctx, "other", old.ID, job.RunAgain{})
	wantCode(b, err, core.NotFound, "no job")
	_, err = b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{Input: json.RawMessage(`{`)})
	wantCode(b, err, core.Invalid, "input")
	// If the queue was deleted, the job gets the queue of the task.
	for _, id := range []int64{again.Job.ID, other.Job.ID} {
		b.cancel(id)
	}
	if err := b.st.DeleteQueue(b.ctx, "night"); err != nil {
		b.Fatalf("delete of queue night: %v", err)
	}
	want(b, "queue", must(b.st.RunJobAgain(b.ctx, "default", old.ID, job.RunAgain{}))(b).Job.Queue, "default")
}
