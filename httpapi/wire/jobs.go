package wire

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// NewJobBatch is the body of a request for several jobs.
type NewJobBatch struct {
	Jobs []job.NewJob `json:"jobs" doc:"Made in one transaction; at most 10000"`
}

// EnqueuedBatch is the answer to a [NewJobBatch].
type EnqueuedBatch struct {
	Jobs []job.Enqueued `json:"jobs" doc:"In the order of the question"`
}

// JobNote is the reason of an action on jobs.
type JobNote struct {
	Note string `json:"note,omitempty" doc:"Why; kept with the job and in the audit"`
}

// Selection returns the note as a selection without jobs.
func (n JobNote) Selection() view.Selection { return view.Selection{Note: n.Note} }

// JobRetry is the body of a retry of one job.
type JobRetry struct {
	Note string `json:"note,omitempty" doc:"Why; kept with the job and in the audit"`
	Key  string `json:"key,omitempty" doc:"Idempotency key: a job that was retried with it is not retried again; remembered for 24h"`
}

// Selection returns the note and key as a selection without jobs.
func (r JobRetry) Selection() view.Selection { return view.Selection{Note: r.Note, Key: r.Key} }
