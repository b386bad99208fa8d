package engine

import (
	"context"
	"math/rand/v2"
	"time"
)

// Samples is a store that keeps how many jobs waited in queues over time.
type Samples interface {
	// SampleQueues takes the sample of the present minute, unless one was taken.
	SampleQueues(ctx context.Context) (now time.Time, err error)
}

// sampleWithin spreads the nodes over the begin of a minute, so that one of them
// does the work and the others find it done.
const sampleWithin = 4 * time.Second

func (e *Engine) sample(s Samples) pass {
	spread := rand.N(sampleWithin)
	return func(ctx context.Context) (time.Duration, error) {
		now, err := s.SampleQueues(ctx)
		return now.Truncate(time.Minute).Add(time.Minute + spread).Sub(now), err
	}
}
