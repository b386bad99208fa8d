package tasks

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// The services, per noun. The store has all of them, and so has the [client.Client],
// so that a command works the same on a local database and on a server.
//
// A namespace argument of [core.AnyNamespace] means all of them, where a
// thing is found by its id.

// Tasks keeps what to run.
type Tasks interface {
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
}

// Cycles shows tasks that have members, and steers their runs. They are saved
// like any other task.
type Cycles interface {
	CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error)
	Cycles(ctx context.Context, f view.DocumentFilter) (core.Page[cycle.Status], error)
	// RunCycle makes a job of a cycle now, beside its plan, unless one is under
	// way or about to be.
	RunCycle(ctx context.Context, namespace, name string) (job.Job, error)
	// CancelCycle ends the run under way, and the member that runs.
	CancelCycle(ctx context.Context, namespace, name, note string) (view.Selected, error)
	// SkipMember leaves a member out of the run under way.
	SkipMember(ctx context.Context, namespace, cycle, member string) (cycle.Run, error)
	// ResetTiming forgets when members last succeeded, in whatever cycle, and
	// answers which. Without names it is all members of the cycle.
	ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error)
}
