package load

import (
	"context"
	"sync/atomic"
	"time"
)

// maxJobs is the most jobs that one driver can follow.
const maxJobs = 1 << 23

// tally counts the jobs that have run. A job that runs twice counts once.
type tally struct {
	begun  time.Time // the zero of all times
	seen   []atomic.Uint64
	count  atomic.Int64
	target atomic.Int64
	wake   chan struct{}
	watch  atomic.Pointer[watch]
}

// watch keeps the times at which some jobs ran.
type watch struct {
	first int64
	at    []atomic.Int64 // nanoseconds since the tally began; 0: not yet
}

func newTally() *tally {
	return &tally{begun: time.Now(), seen: make([]atomic.Uint64, maxJobs/64), wake: make(chan struct{}, 1)}
}

// ran is the first line of every handler.
func (t *tally) ran(job int64) {
	if job < 0 || job >= maxJobs {
		return
	}
	if w := t.watch.Load(); w != nil {
		if i := job - w.first; i >= 0 && i < int64(len(w.at)) {
			w.at[i].CompareAndSwap(0, int64(time.Since(t.begun)))
		}
	}
	bit := uint64(1) << (job % 64)
	if t.seen[job/64].Or(bit)&bit != 0 {
		return
	}
	if t.count.Add(1) == t.target.Load() {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// wait returns when n different jobs have run, or the context ends.
func (t *tally) wait(ctx context.Context, n int64) error {
	t.target.Store(n) // set before the count is read, or a last job in between would wake no waiter
	for t.count.Load() < n {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
