// Package patience has the pauses after failures of a service: [Backoff] lets them
// grow, and [Outage] logs one line for all failures of one outage. Each value
// belongs to one loop.
package patience

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-run/belfry/internal/jitter"
)

// Backoff is a growing pause between tries, with jitter, so that many who lost
// the same server do not return in step. It doubles from First to Most.
type Backoff struct {
	First, Most time.Duration
	tries       int
}

// Reset is for after a success.
func (b *Backoff) Reset() { b.tries = 0 }

// Next is how long to wait now: between half of the pause and all of it.
func (b *Backoff) Next() time.Duration {
	d := b.Most
	if b.tries < 20 {
		d = min(b.First<<b.tries, b.Most)
	}
	b.tries++
	return d/2 + jitter.N(d/2+1)
}

// Sleep waits for the next pause to pass or the context to end.
func (b *Backoff) Sleep(ctx context.Context) {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Outage logs the first of a row of errors and the end of the row, so that a
// call that is tried again many times does not fill the log. It is not safe
// for concurrent use.
type Outage struct {
	Log   *slog.Logger
	What  string // does not work, for people
	since time.Time
}

// Saw takes notice of how one try went.
func (o *Outage) Saw(err error) {
	switch {
	case err != nil && o.since.IsZero():
		o.since = time.Now()
		o.Log.Warn("call fails, trying again", "what", o.What, "error", err)
	case err == nil && !o.since.IsZero():
		o.Log.Info("call works again", "what", o.What, "after", time.Since(o.since))
		o.since = time.Time{}
	}
}
