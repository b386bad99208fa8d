package worker

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/quiet"
)

// Direct executes a task once in this process, without store, queue, retries or
// output limit, as `belfry run` does. Empty input means the input of the task.
func Direct(ctx context.Context, executors map[task.Kind]Executor, task task.Task, input json.RawMessage, stdout, stderr io.Writer) job.Finish {
	task = task.WithDefaults()
	now := time.Now()
	j := job.Job{
		Namespace: task.Namespace, Task: task.Name, Kind: task.Kind, Queue: task.Queue, Priority: task.Priority,
		State: job.Running, Trigger: job.TriggerManual, Input: input, Tags: task.Tags,
		DueAt: now, CreatedAt: now, ClaimedAt: now, Attempt: 1, MaxAttempts: 1, Timeout: task.Timeout,
	}
	stdout, stderr = &quiet.Writer{W: stdout}, &quiet.Writer{W: stderr}
	r := newRun(j, task, stdout, stderr, stderr)
	ex := executors[task.Kind]
	if ex == nil {
		return r.Refused("task %q is of kind %s, which cannot run here", task.Name, task.Kind)
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ErrCanceled) })()
	patience := defaultPatience + killGrace(&task)
	concluded := make(chan job.Finish, 1)
	go newSlot(own).execute(ex, r, now, patience, func(f job.Finish, cause error, _ time.Time, _ bool) {
		f, _ = conclude(f, cause, r.Timeout())
		concluded <- f
	}, func(job.Finish) {})
	return <-concluded
}
