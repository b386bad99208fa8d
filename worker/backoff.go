package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a growing pause between tries, with jitter, so that many workers
// that lost the same server do not return in step.
type backoff struct {
	first, most time.Duration
	tries       int
}

func (b *backoff) reset() { b.tries = 0 }

func (b *backoff) next() time.Duration {
	d := b.most
	if b.tries < 20 {
		d = min(b.first<<b.tries, b.most)
	}
	b.tries++
	return d/2 + rand.N(d/2+1)
}

// sleep waits for the next pause to pass or the context to end.
func (b *backoff) sleep(ctx context.Context) {
	timer := time.NewTimer(b.next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// signal wakes whoever listens, without waiting; several wake-ups before it
// looks are one.
func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
