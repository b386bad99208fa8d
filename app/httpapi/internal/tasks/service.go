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

// The services, per noun. The store and the [client.Client] implement all of them, so that a
// command works the same on a local database and on a server.
//
// Where an id identifies an object, a namespace argument of [core.AnyNamespace] means all
// namespaces.

// Tasks stores tasks.
type Tasks interface {
	CreateTask(ctx context.Context, t task.Task) (task.Task, error)
	UpdateTask(ctx context.Context, t task.Task) (task.Task, error)
	DeleteTask(ctx context.Context, namespace, name string) error
	Task(ctx context.Context, namespace, name string) (task.Task, error)
	Tasks(ctx context.Context, f task.Filter) (core.Page[task.Task], error)
	// LimitUse returns the present use of the limits of a task.
	LimitUse(ctx context.Context, namespace, name string) ([]view.LimitUse, error)
	// ResumeSequence resumes a sequence that a failed job stopped, with the next job. It returns whether it was stopped.
	ResumeSequence(ctx context.Context, namespace, name, key string) (bool, error)
	// TryTask creates a job from a definition without saving the definition.
	TryTask(ctx context.Context, t job.TaskTrial) (job.Enqueued, error)
}

// Workflows shows and controls runs of workflows. Workflows are tasks: they are saved and enqueued like other tasks,
// and a run is canceled with its job.
type Workflows interface {
	// WorkflowRun returns the run of a workflow's job, running or ended.
	WorkflowRun(ctx context.Context, namespace string, id int64) (workflow.Status, error)
	// WorkflowItems lists the jobs of a step, in the order of the step's list.
	WorkflowItems(ctx context.Context, namespace string, id int64, step string, p core.Paging) (core.Page[workflow.Item], error)
	// SendSignal sends a signal or an approval to a run.
	SendSignal(ctx context.Context, namespace string, id int64, s workflow.Signal) (workflow.Sent, error)
	// MakeLink creates a link at which a signal or approval is answered without a token.
	MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
	// DeleteLinks revokes the links of a run, or those of one signal or approval.
	DeleteLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error)
	// RetryWorkflow continues an ended run. A run that was retried with the same key already is existing, and is left as it is.
	RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) (existing bool, err error)
}

// Links serves requests that the key of a link authorizes.
type Links interface {
	// Linked returns the question of a link. It changes nothing.
	Linked(ctx context.Context, key string) (workflow.Linked, error)
	// SendByLink answers the question of a link. The link sets the name of the signal.
	SendByLink(ctx context.Context, key string, s workflow.Signal) (workflow.Sent, error)
}

// Cycles shows cycles, which are tasks with members, and controls their runs.
// Cycles are saved like other tasks.
type Cycles interface {
	CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error)
	Cycles(ctx context.Context, f view.DocumentFilter) (core.Page[cycle.Status], error)
	// RunCycle creates a job of a cycle now, in addition to its schedule, unless a
	// job runs or is about to run.
	RunCycle(ctx context.Context, namespace, name string) (job.Job, error)
	// CancelCycle cancels the present run and its running member.
	CancelCycle(ctx context.Context, namespace, name, note string) (view.Selected, error)
	// SkipMember skips a member in the present run.
	SkipMember(ctx context.Context, namespace, cycle, member string) (cycle.Run, error)
	// ResetTiming deletes the times of the last success of members, in all cycles,
	// and returns the names of these members. Without names it means all members
	// of the cycle.
	ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error)
}
