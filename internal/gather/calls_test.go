package gather

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Callers that were answered in one batch and call again at once form a batch again. A lone caller after that waits for a
// bounded time, and the next lone caller not at all.
func TestCallersThatComeBackGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const took = 80 * time.Millisecond
		var mu sync.Mutex
		var sizes []int
		g := New(true)
		g.Rallies = true
		call := func() {
			_, _ = g.Do(t.Context(), "", make([]job.NewJob, 1), func(_ context.Context, calls []*Call) {
				mu.Lock()
				sizes = append(sizes, len(calls))
				mu.Unlock()
				time.Sleep(took)
				for _, c := range calls {
					c.Answer(nil, nil)
				}
			})
		}
		var all sync.WaitGroup
		for range 2 {
			all.Go(call)
			synctest.Wait()
		}
		for range 8 {
			all.Go(func() {
				call()
				time.Sleep(time.Nanosecond) // until the duration of the batch before is recorded
				call()
			})
		}
		all.Wait()
		if want := []int{1, 1, 8, 8}; !slices.Equal(sizes, want) {
			t.Errorf("sizes of batches: got %v, want %v", sizes, want)
		}
		for _, want := range []time.Duration{rallyMost, 0} {
			begun := time.Now()
			call()
			if waited := time.Since(begun) - took; waited != want {
				t.Errorf("a lone call waited %s, want %s", waited, want)
			}
		}
	})
}
