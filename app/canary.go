package app

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/app/httpapi"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// CanaryTask is the name of a task of kind func that every Belfry worker
// handles. A job of it proves that its queue works from end to end.
const CanaryTask = task.CanaryTask

// CanaryOutput is what a canary job returns.
type CanaryOutput struct {
	Sang time.Time `json:"sang"`
}

// RegisterCanary makes a worker with these handlers run canary jobs.
func RegisterCanary(h *worker.Handlers) {
	worker.Handle(h, CanaryTask, func(context.Context, struct{}) (CanaryOutput, error) {
		return CanaryOutput{Sang: time.Now().UTC()}, nil
	})
}

// Canary is the result of one canary job.
type Canary struct {
	Queue string        `json:"queue"`
	OK    bool          `json:"ok"`
	JobID int64         `json:"job_id,omitempty"`
	Took  time.Duration `json:"took_ns,omitempty"`
	Error string        `json:"error,omitempty"`
	Fix   string        `json:"fix,omitempty"`
}

// SendCanary enqueues a canary job on a queue, in a namespace, and waits until it is claimed
// and finished. After within, it cancels the job, and the result says why the job did not
// run.
func SendCanary(ctx context.Context, svc httpapi.Service, namespace, queue string, within time.Duration) Canary {
	c := Canary{Queue: queue}
	begun := time.Now()
	limits, err := svc.Namespace(ctx, namespace)
	if err != nil {
		c.Error = "cannot be enqueued: " + err.Error()
		return c
	}
	priority := core.MaxPriority
	if limits.MaxPriority != nil {
		priority = *limits.MaxPriority
	}
	made, err := svc.Enqueue(ctx, []job.NewJob{{
		Namespace: namespace, Task: CanaryTask, Kind: task.KindFunc, Queue: queue, Priority: &priority, MaxAttempts: 1,
		Timeout: max(core.Duration(within), task.MinTimeout), Tags: []string{"canary"},
	}})
	if err != nil {
		c.Error = "cannot be enqueued: " + err.Error()
		return c
	}
	c.JobID = made[0].Job.ID
	wait, stop := context.WithTimeout(ctx, within)
	defer stop()
	j, err := WaitJob(wait, svc, namespace, c.JobID)
	c.Took = time.Since(begun)
	switch {
	case err == nil && j.State == job.Succeeded:
		c.OK = true
	case err == nil:
		c.Error, c.Fix = fmt.Sprintf("ended as %s: %s", j.State, j.Error), fmt.Sprintf("belfry job logs %d", c.JobID)
	case wait.Err() == nil:
		c.Error = err.Error()
	default:
		c.overdue(context.WithoutCancel(ctx), svc, namespace, within)
	}
	return c
}

// overdue records why the job does not run, and cancels it.
func (c *Canary) overdue(ctx context.Context, svc httpapi.Service, namespace string, within time.Duration) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	c.Error = fmt.Sprintf("was not done within %s", within)
	if why, err := svc.Why(ctx, namespace, c.JobID); err == nil {
		c.Error += ": " + why.Summary
		c.Fix = why.Next
	}
	_, _ = svc.CancelJobs(ctx, namespace, view.Selection{
		IDs: []int64{c.JobID}, Note: "the canary was overdue",
	}) // an error does not change the result; retention deletes the job in any case
}

// WaitJob waits until a job has ended. It listens to events, and also reads the
// job every two seconds, because events can be lost.
func WaitJob(ctx context.Context, svc httpapi.Service, namespace string, id int64) (job.Job, error) {
	cursor := ""
	// The first call gets the current cursor, so that events between the read of
	// the job and the wait are not missed.
	_, cursor, _ = svc.Events(ctx, namespace, cursor, 0)
	for {
		job, err := svc.Job(ctx, namespace, id)
		if err != nil || job.State.Final() {
			return job, err
		}
		cursor = waitEvent(ctx, svc, namespace, cursor, id)
		if ctx.Err() != nil {
			return job, ctx.Err()
		}
	}
}

// waitEvent returns after an event of the job, or after a short time.
func waitEvent(ctx context.Context, svc httpapi.Service, namespace, cursor string, id int64) string {
	until := time.Now().Add(2 * time.Second)
	for {
		events, next, err := svc.Events(ctx, namespace, cursor, time.Until(until))
		if err != nil {
			sleep(ctx, 500*time.Millisecond) // without events, the job is read at this interval
			return ""
		}
		for _, e := range events {
			if e.Job != nil && e.Job.ID == id {
				return next
			}
		}
		if cursor = next; ctx.Err() != nil || time.Now().After(until) {
			return cursor
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
