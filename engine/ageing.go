package engine

import (
	"context"
	"time"
)

// Ageing is a store that raises jobs which have waited for long in queues that say so. It answers when to go on.
type Ageing interface {
	AgeJobs(ctx context.Context) (rest time.Duration, err error)
}
