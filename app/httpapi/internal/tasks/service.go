package tasks

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/workflow"
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
	// LimitUse is how the limits of a task are used now.
	LimitUse(ctx context.Context, namespace, name string) ([]view.LimitUse, error)
	// ResumeSequence has a sequence that a failed job stopped go on with the next, and answers whether it was stopped.
	ResumeSequence(ctx context.Context, namespace, name, key string) (bool, error)
	// TryTask makes a job of a definition that is not saved.
	TryTask(ctx context.Context, t job.TaskTrial) (job.Enqueued, error)
}

// Workflows shows runs of workflows, and steers them. Workflows are tasks: they are saved and enqueued like any,
// and a run is canceled as its job.
type Workflows interface {
	// WorkflowRun is the run of a workflow's job, under way or ended.
	WorkflowRun(ctx context.Context, namespace string, id int64) (workflow.Status, error)
	// WorkflowItems are the jobs of a step, in the order of its list.
	WorkflowItems(ctx context.Context, namespace string, id int64, step string, p core.Paging) (core.Page[workflow.Item], error)
	// SendSignal gives a signal or an approval to a run.
	SendSignal(ctx context.Context, namespace string, id int64, s workflow.Signal) (workflow.Sent, error)
	// MakeLink makes an address at which a signal or approval is answered without a token.
	MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
	// DeleteLinks takes back the links of a run, or those of one signal or approval.
	DeleteLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error)
	// RetryWorkflow has a run that ended go on.
	RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) error
}

// Links answers requests that bring the key of a link and nothing else.
type Links interface {
	// Linked is what the link with a key asks. To look changes nothing.
	Linked(ctx context.Context, key string) (workflow.Linked, error)
	// SendByLink answers what the link with a key asks. The name of the signal is that of the link.
	SendByLink(ctx context.Context, key string, s workflow.Signal) (workflow.Sent, error)
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
