package wire

import (
	"github.com/belfry-run/belfry/job"
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
