package engine

import (
	"context"
	"time"
)

// Ageing is a store that raises the priority of jobs that have waited long, in queues with ageing. AgeJobs returns
// the time until its next call.
type Ageing interface {
	AgeJobs(ctx context.Context) (rest time.Duration, err error)
}
