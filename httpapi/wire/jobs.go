package wire

import (
	"github.com/belfry-run/belfry/job"
)

type NewJobBatch struct {
	Jobs []job.NewJob `json:"jobs" doc:"Made in one transaction; at most 10000"`
}

type EnqueuedBatch struct {
	Jobs []job.Enqueued `json:"jobs" doc:"In the order of the question"`
}

// JobNote is why it is done.
type JobNote struct {
	Note string `json:"note,omitempty" doc:"Why; kept with the job and in the audit"`
}
