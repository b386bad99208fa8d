package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Helpers for nodes that run for simulated weeks in a synctest bubble.

// rest is the result of a pass, which is valid until an event or its next time.
type rest struct {
	woken <-chan struct{}
	next  time.Time
	since time.Time
}

// wait waits until the result is no longer valid.
func (r rest) wait(ctx context.Context) {
	most := time.Hour
	if !r.next.IsZero() {
		most = min(most, time.Until(r.next))
	}
	if r.since.IsZero() || most <= 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.woken:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// loop runs functions in goroutines until stop is called.
func loop(t *testing.T, runs ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, len(runs))
	for _, run := range runs {
		go func() { ended <- run(ctx) }()
	}
	return func() {
		cancel()
		for range runs {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
}

// until lets time pass until t.
func until(t time.Time) {
	time.Sleep(time.Until(t))
	synctest.Wait()
}
