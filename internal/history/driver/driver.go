// Package driver records a history during calls to an installation. It wraps a client and the [job.Leaser] of a worker, and
// converts the answers to lines of a history.
package driver

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/history"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// Calls are the calls of a client that a history can contain. The client of package httpapi/client implements them.
type Calls interface {
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (job.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	PauseQueue(ctx context.Context, name, reason string) (job.Queue, error)
	ResumeQueue(ctx context.Context, name string) (job.Queue, error)
	PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error)
	ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error)
}

// Client records the calls through it. Several clients may share a writer, each under its own name.
type Client struct {
	To      Calls
	Writer  *history.Writer
	Process string
}

var _ Calls = Client{}

// outcome ends a call. An error with a code other than unknown and internal guarantees that the call had no effect.
func outcome(c history.Call, err error, result func() history.Result) {
	var known *core.Error
	switch {
	case err == nil:
		c.OK(result())
	case errors.As(err, &known) && known.Code != core.Unknown && known.Code != core.Internal:
		c.Fail(err)
	default: // including the end of a context
		c.Unknown(err)
	}
}

// Enqueue records an enqueue.
func (c Client) Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error) {
	var args history.Args
	for _, n := range ns {
		args.Jobs = append(args.Jobs, history.JobArgs{Task: n.Task, Key: n.Key, KeyWindow: n.KeyWindow.D().Microseconds(), ActiveKey: n.ActiveKey})
	}
	call := c.Writer.Invoke(c.Process, history.OpEnqueue, args)
	made, err := c.To.Enqueue(ctx, ns)
	outcome(call, err, func() history.Result { return results(made...) })
	return made, err
}

func results(made ...job.Enqueued) (r history.Result) {
	for _, m := range made {
		r.Jobs = append(r.Jobs, history.JobResult{ID: m.Job.ID, Existing: m.Existing})
	}
	return r
}

// CancelJobs records a cancel. It accepts only IDs: with a filter, the jobs of a lost answer would be unknown.
func (c Client) CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error) {
	return c.selected(ctx, history.OpCancel, namespace, s, c.To.CancelJobs)
}

// RetryJobs records a retry by hand. It accepts only IDs.
func (c Client) RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error) {
	return c.selected(ctx, history.OpRetry, namespace, s, c.To.RetryJobs)
}

func (c Client) selected(ctx context.Context, op, namespace string, s view.Selection, do func(context.Context, string, view.Selection) (view.Selected, error)) (view.Selected, error) {
	if len(s.IDs) == 0 || s.DryRun {
		return view.Selected{}, core.Errorf(core.Invalid, "a history has no filters and no dry runs").WithHint("give the ids of the jobs")
	}
	call := c.Writer.Invoke(c.Process, op, history.Args{Jobs: refs(s.IDs...)})
	got, err := do(ctx, namespace, s)
	outcome(call, err, func() (r history.Result) {
		for _, id := range got.IDs {
			r.Jobs = append(r.Jobs, history.JobResult{ID: id})
		}
		return r
	})
	return got, err
}

func refs(ids ...int64) []history.JobArgs {
	list := make([]history.JobArgs, len(ids))
	for i, id := range ids {
		list[i].ID = id
	}
	return list
}

// RunJobAgain records a new job from an old one.
func (c Client) RunJobAgain(ctx context.Context, namespace string, id int64, again job.RunAgain) (job.Enqueued, error) {
	call := c.Writer.Invoke(c.Process, history.OpRunAgain, history.Args{Jobs: []history.JobArgs{{ID: id, Key: again.Key}}})
	made, err := c.To.RunJobAgain(ctx, namespace, id, again)
	outcome(call, err, func() history.Result { return results(made) })
	return made, err
}

// Job records a read.
func (c Client) Job(ctx context.Context, namespace string, id int64) (job.Job, error) {
	call := c.Writer.Invoke(c.Process, history.OpRead, history.Args{Jobs: refs(id)})
	j, err := c.To.Job(ctx, namespace, id)
	if core.CodeOf(err) == core.NotFound {
		call.OK(history.Result{Jobs: []history.JobResult{{ID: id, State: "not_found"}}})
		return j, err
	}
	outcome(call, err, func() history.Result {
		return history.Result{Jobs: []history.JobResult{{ID: id, State: string(j.State)}}}
	})
	return j, err
}

// PauseQueue records a pause.
func (c Client) PauseQueue(ctx context.Context, name, reason string) (job.Queue, error) {
	return named(c, history.OpPauseQueue, name, func() (job.Queue, error) { return c.To.PauseQueue(ctx, name, reason) })
}

// ResumeQueue records the end of a pause.
func (c Client) ResumeQueue(ctx context.Context, name string) (job.Queue, error) {
	return named(c, history.OpResumeQueue, name, func() (job.Queue, error) { return c.To.ResumeQueue(ctx, name) })
}

// PauseSchedule records a pause.
func (c Client) PauseSchedule(ctx context.Context, namespace, name, reason string) (schedule.Schedule, error) {
	return named(c, history.OpPauseSchedule, name, func() (schedule.Schedule, error) { return c.To.PauseSchedule(ctx, namespace, name, reason) })
}

// ResumeSchedule records the end of a pause.
func (c Client) ResumeSchedule(ctx context.Context, namespace, name string, catchUp bool) (schedule.Schedule, error) {
	return named(c, history.OpResumeSchedule, name, func() (schedule.Schedule, error) { return c.To.ResumeSchedule(ctx, namespace, name, catchUp) })
}

func named[T any](c Client, op, name string, do func() (T, error)) (T, error) {
	call := c.Writer.Invoke(c.Process, op, history.Args{Name: name})
	got, err := do()
	outcome(call, err, func() history.Result { return history.Result{} })
	return got, err
}

// JobOf returns the record of a job that was read at a time of the history.
func JobOf(j job.Job, as []job.Attempt, at int64) history.Job {
	out := history.Job{
		ID: j.ID, Task: j.Task, Kind: string(j.Kind), Queue: j.Queue, Key: j.Key, ActiveKey: j.ActiveKey, Schedule: j.Schedule, Trigger: string(j.Trigger),
		Nominal: micros(j.Nominal), State: string(j.State), Reason: string(j.Reason), Time: at,
	}
	for _, a := range as {
		out.Attempts = append(out.Attempts, history.Attempt{Number: a.Number, Lease: a.Lease, Outcome: string(a.Outcome)})
	}
	return out
}

// OccurrenceOf returns the record of an occurrence of a schedule.
func OccurrenceOf(name string, o schedule.Occurrence) history.Occurrence {
	return history.Occurrence{
		Schedule: name, Nominal: micros(o.Nominal), Until: micros(o.Until), Count: o.Count, Decision: string(o.Decision), Reason: string(o.Reason), Job: o.JobID,
	}
}

// ScheduleOf returns the record of a definition that was in force for the nominal times from to to, both inclusive.
func ScheduleOf(s schedule.Schedule, from, to time.Time) history.Schedule {
	return history.Schedule{Definition: s, From: micros(from), To: micros(to)}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
