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
// handles. A job of it proves that its queue is alive from end to end.
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

// Canary is what came of one canary job.
type Canary struct {
	Queue string        `json:"queue"`
	OK    bool          `json:"ok"`
	JobID int64         `json:"job_id,omitempty"`
	Took  time.Duration `json:"took_ns,omitempty"`
	Error string        `json:"error,omitempty"`
	Fix   string        `json:"fix,omitempty"`
}

// SendCanary enqueues a canary job on a queue, in a namespace, and waits until it has been
// claimed and settled. When it takes longer than within, the job is canceled
// and the answer says what stood in its way.
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

// overdue asks why the job does not run, and takes it back.
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
	}) // the answer stands; retention removes the job in any case
}

// WaitJob waits until a job has ended. It listens to events and looks again
// every two seconds, because events are hints.
func WaitJob(ctx context.Context, svc httpapi.Service, namespace string, id int64) (job.Job, error) {
	cursor := ""
	// The first call only asks where events stand now, so that what happens
	// between the look and the listening is not missed.
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

// waitEvent returns when something happened to the job, or soon.
func waitEvent(ctx context.Context, svc httpapi.Service, namespace, cursor string, id int64) string {
	until := time.Now().Add(2 * time.Second)
	for {
		events, next, err := svc.Events(ctx, namespace, cursor, time.Until(until))
		if err != nil {
			sleep(ctx, 500*time.Millisecond) // events cannot be had: look at the row at this pace
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
