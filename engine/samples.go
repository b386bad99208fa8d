package engine

import (
	"context"
	"math/rand/v2"
	"time"
)

// Samples is a store that records the number of waiting jobs of each queue over time.
type Samples interface {
	// SampleQueues takes the sample of the current minute, unless it exists.
	SampleQueues(ctx context.Context) (now time.Time, err error)
}

// sampleWithin spreads the nodes over the start of a minute, so that one node
// takes the sample and the others find it.
const sampleWithin = 4 * time.Second

func (e *Engine) sample(s Samples) pass {
	spread := rand.N(sampleWithin)
	return func(ctx context.Context) (time.Duration, error) {
		now, err := s.SampleQueues(ctx)
		return now.Truncate(time.Minute).Add(time.Minute + spread).Sub(now), err
	}
}
