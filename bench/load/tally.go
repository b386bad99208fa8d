package load

import (
	"context"
	"sync/atomic"
	"time"
)

// maxJobs is how many jobs one driver can follow in its life.
const maxJobs = 1 << 23

// tally counts which jobs have run. A job that runs twice counts once.
type tally struct {
	begun  time.Time // what times are counted from
	seen   []atomic.Uint64
	count  atomic.Int64
	target atomic.Int64
	wake   chan struct{}
	watch  atomic.Pointer[watch]
}

// watch keeps when each of a few jobs ran.
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
	t.target.Store(n) // before the look at the count, or a last job between the two would wake no waiter
	for t.count.Load() < n {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
