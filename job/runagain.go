package job

import (
	"encoding/json"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// RunNow is the request for a job of a schedule now, in addition to its plan.
type RunNow struct {
	Input json.RawMessage `json:"input,omitempty" doc:"Default: the schedule's input"`
	Key   string          `json:"key,omitempty" doc:"Idempotency key, as of a job that is enqueued"`
}

// RunAgain is the request for a new job like a finished one.
type RunAgain struct {
	Input json.RawMessage `json:"input,omitempty" doc:"Default: that of the finished job"`
	Note  string          `json:"note,omitempty" doc:"Why; kept in the audit"`
	Key   string          `json:"key,omitempty" doc:"Idempotency key, as of a job that is enqueued"`
}

// Of returns the new job: the request of the finished job j, with the current
// task. The schedule, cycle and active key of j are not copied.
func (r RunAgain) Of(j Job) (NewJob, error) {
	var p core.Problems
	if len(r.Note) > core.MaxDescription {
		p.Addf("note", r.Note, "has more than %d bytes", core.MaxDescription)
	}
	if err := p.Err("run again"); err != nil {
		return NewJob{}, err
	}
	if monitor, owned := task.OwnerOf(j.Task); owned {
		return NewJob{}, core.Errorf(core.Conflict, "job %d is a check of monitor %q", j.ID, monitor).WithHint("check it now: belfry monitor check %s", monitor)
	}
	if task.IsTrial(j.Task) {
		return NewJob{}, core.Errorf(core.Conflict, "job %d is a trial of a definition that was not saved", j.ID).WithHint("try it again, or create the task")
	}
	if !j.State.Final() {
		return NewJob{}, core.Errorf(core.Conflict, "job %d has not ended, it is %s", j.ID, j.State).WithHint("wait for its end, or enqueue another: belfry job enqueue %s", j.Task)
	}
	n := NewJob{Namespace: j.Namespace, Task: j.Task, Input: j.Input, Queue: j.Queue, Priority: &j.Priority,
		MaxAttempts: j.MaxAttempts, Timeout: j.Timeout, Tags: j.Tags, Key: r.Key}
	if len(r.Input) > 0 {
		n.Input = r.Input
	}
	if task.RunByEngine(j.Kind) {
		n.MaxAttempts = 0
	}
	return n, nil
}
