package jobs

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Jobs keeps what was asked for and what came of it.
type Jobs interface {
	Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error)
	Job(ctx context.Context, namespace string, id int64) (job.Job, error)
	// Jobs lists jobs, newest first. Terms that no index answers are looked for
	// in so many rows at a time: then a page may have fewer jobs than its limit,
	// or none, and a cursor to go on with.
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
	// CountJobs counts what a filter finds, as far as a cap.
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	Attempts(ctx context.Context, namespace string, id int64) ([]job.Attempt, error)
	Logs(ctx context.Context, namespace string, id int64, f job.LogFilter) (core.Page[job.LogLine], error)
	// LogText answers a part of a job's log by byte, its last lines, or the lines
	// that a search finds.
	LogText(ctx context.Context, namespace string, id int64, q job.LogQuery) (job.LogText, error)
	CancelJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RetryJobs makes failed and canceled jobs ready again, under the task
	// as it is now and with all their attempts back.
	RetryJobs(ctx context.Context, namespace string, s view.Selection) (view.Selected, error)
	// RunJobAgain makes a new job of a finished one, with the same input or another.
	RunJobAgain(ctx context.Context, namespace string, id int64, r job.RunAgain) (job.Enqueued, error)
	Why(ctx context.Context, namespace string, id int64) (job.Why, error)
	Outputs
	Steps
}

// Steps keeps what attempts recorded of their jobs.
type Steps interface {
	// JobSteps lists the recorded steps of a job, in order.
	JobSteps(ctx context.Context, namespace string, id int64) ([]job.Step, error)
	// SignalJob gives a signal to a job: to the step that waits for it, or to be kept for one.
	SignalJob(ctx context.Context, namespace string, id int64, sig job.Signal) (job.SentSignal, error)
	// MakeSignalLink makes an address at which a signal is sent to a job without a token.
	MakeSignalLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error)
	// DeleteSignalLinks takes back the links of a job, or those of one signal.
	DeleteSignalLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error)
	// ResetSteps forgets the steps of a job that does not run, and answers how many these were.
	ResetSteps(ctx context.Context, namespace string, id int64, r job.StepReset) (int, error)
}

// Outputs keeps the files that programs leave.
type Outputs interface {
	// Outputs lists the files that the attempts of a job left.
	Outputs(ctx context.Context, namespace string, job int64) ([]task.JobOutput, error)
	// OutputLink is where one is to be fetched, of the newest attempt unless a
	// lease is named.
	OutputLink(ctx context.Context, namespace string, job int64, name string, lease int64) (task.SignedRequest, error)
	// DeclareOutput announces one of an attempt that runs, and answers where its
	// bytes are to be sent, or nil when they are there.
	DeclareOutput(ctx context.Context, session string, ref job.Ref, o task.Output) (*task.SignedRequest, error)
}
