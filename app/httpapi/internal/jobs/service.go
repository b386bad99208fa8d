package jobs

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Jobs stores jobs and their results.
type Jobs interface {
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	// Jobs lists jobs, newest first. For terms without an index, each call scans a
	// limited number of rows: a page may then have fewer jobs than its limit, or
	// none, and still a cursor.
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	// CountJobs counts the jobs of a filter, up to a cap.
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error)
	// LogText returns a part of a job's log by byte, its last lines, or the lines
	// that a search finds.
	LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RetryJobs makes failed and canceled jobs ready again, with the present
	// definition of the task and all their attempts.
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RunJobAgain creates a new job from a finished one, with the same input or another.
	RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (job.Enqueued, error)
	Why(ctx context.Context, namespace string, id int64) (job.Why, error)
	Outputs
	Steps
}

// Steps stores the steps that attempts recorded of their jobs.
type Steps interface {
	// JobSteps lists the recorded steps of a job, in order.
	JobSteps(ctx context.Context, namespace string, id int64) ([]job.Step, error)
	// SignalJob sends a signal to a job: to the step that waits for it, or to be stored for a later step.
	SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (job.SentSignal, error)
	// MakeSignalLink creates a link that sends a signal to a job without a token.
	MakeSignalLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
	// DeleteSignalLinks revokes the links of a job, or those of one signal.
	DeleteSignalLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error)
	// ResetSteps deletes the steps of a job that does not run, and returns their number.
	ResetSteps(ctx context.Context, namespace string, id int64, r job.StepReset) (int, error)
}

// Outputs stores the output files of programs.
type Outputs interface {
	// Outputs lists the output files of the attempts of a job.
	Outputs(ctx context.Context, namespace string, job int64) ([]task.JobOutput, error)
	// OutputLink returns the link to an output file, of the newest attempt unless a
	// lease is given.
	OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (task.SignedRequest, error)
	// DeclareOutput announces an output file of a running attempt, and returns the
	// link for its upload, or nil if the bytes are already stored.
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}
