package worker

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/belfry-run/belfry"
)

// Direct executes a task once, here and now: without a store, a queue, a
// retry or a limit on its output. It is what `belfry run` does. Empty input
// means the task's own.
func Direct(ctx context.Context, executors map[belfry.Kind]Executor, task belfry.Task, input json.RawMessage, stdout, stderr io.Writer) belfry.Finish {
	task = task.WithDefaults()
	now := time.Now()
	job := belfry.Job{
		Namespace: task.Namespace, Task: task.Name, Kind: task.Kind, Queue: task.Queue, Priority: task.Priority,
		State: belfry.JobRunning, Trigger: belfry.TriggerManual, Input: input, Tags: task.Tags,
		DueAt: now, CreatedAt: now, ClaimedAt: now, Attempt: 1, MaxAttempts: 1, Timeout: task.Timeout,
	}
	stdout, stderr = &quietWriter{w: stdout}, &quietWriter{w: stderr}
	r := newRun(job, task, stdout, stderr, stderr)
	ex := executors[task.Kind]
	if ex == nil {
		return r.Refused("task %q is of kind %s, which cannot run here", task.Name, task.Kind)
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ErrCanceled) })()
	patience := defaultPatience + killGrace(&task)
	concluded := make(chan belfry.Finish, 1)
	go newSlot(own).execute(ex, r, now, patience, func(f belfry.Finish, cause error, _ time.Time, _ bool) {
		f, _ = conclude(f, cause, r.Timeout())
		concluded <- f
	}, func(belfry.Finish) {})
	return <-concluded
}
