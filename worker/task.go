package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// TaskOf is a task with the types of its handler: input In and output Out.
// [Handle] returns one. A program that only enqueues writes
// TaskOf[In, Out]{Name: "…"}.
type TaskOf[In, Out any] struct{ Name string }

// New returns a job of the task with the input in. Set more fields (delay, keys,
// priority) and enqueue it with a store or client. It fails if in is not JSON.
func (t TaskOf[In, Out]) New(in In) (job.NewJob, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return job.NewJob{}, core.Errorf(core.Invalid, "input of task %q is not JSON: %w", t.Name, err)
	}
	return job.NewJob{Task: t.Name, Kind: task.KindFunc, Input: input}, nil
}

// Result returns the output of a succeeded job. For a job in any other state the
// error says why there is no output.
func (t TaskOf[In, Out]) Result(j job.Job) (out Out, err error) {
	if j.Task != t.Name {
		return out, core.Errorf(core.Invalid, "job %d is of task %q, not of %q", j.ID, j.Task, t.Name)
	}
	if j.State != job.Succeeded {
		return out, noResult(j)
	}
	if len(j.Output) == 0 {
		return out, nil
	}
	if err = json.Unmarshal(j.Output, &out); err != nil {
		return out, core.Errorf(core.Invalid, "output of job %d is not what task %q returns: %w", j.ID, t.Name, err)
	}
	return out, nil
}

func noResult(job job.Job) error {
	said := ""
	for _, text := range []string{string(job.Reason), job.Note, job.Error} {
		if text != "" {
			said += ": " + text
		}
	}
	return core.Errorf(core.Conflict, "job %d (%s) is %s (attempt %d)%s", job.ID, job.Task, job.State, job.Attempt, said)
}

// Jobs reads jobs: a store, or the HTTP client.
type Jobs interface {
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
}

// The shortest and longest interval at which Wait reads the job.
const (
	shortestPoll = 10 * time.Millisecond
	longestPoll  = time.Second
)

// Wait waits for the end of a job, as enqueueing returned it, and returns its
// result. It reads the job every 10ms at first, and finally every second.
func (t TaskOf[In, Out]) Wait(ctx context.Context, jobs Jobs, job job.Job) (out Out, err error) {
	for pause := shortestPoll; ; pause = min(pause*3/2, longestPoll) {
		job, err = jobs.Job(ctx, job.Namespace, job.ID)
		if err != nil {
			return out, err
		}
		if job.State.Final() {
			return t.Result(job)
		}
		if err := pauseFor(ctx, pause); err != nil {
			return out, fmt.Errorf("waiting for job %d, which is %s: %w", job.ID, job.State, err)
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
