package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// hearing is since when calls of heartbeats can have been written down. While
// the database is away they are refused, and no monitor is to be taken for dead
// because of that.
type hearing struct {
	mu    sync.Mutex
	deaf  bool
	since time.Time // by this process's clock, or by Options.Clock
}

// Hears notes how a use of the database ended.
func (s *Store) Hears(ctx context.Context, err error) {
	h := &s.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.deaf:
		h.deaf, h.since = false, s.processNow()
	case err != nil && ctx.Err() == nil && databaseIsAway(err):
		h.deaf = true
	}
}

// databaseIsAway reports a fault of the database, and none that a caller made.
func databaseIsAway(err error) bool {
	var own *core.Error
	return errors.As(err, &own) && (own.Code == core.Unavailable || own.Code == core.Unknown) && own.Err != nil
}

func (s *Store) processNow() time.Time {
	if s.Opt.Clock != nil {
		return s.Opt.Clock()
	}
	return time.Now()
}

// HearsSince is since when calls were heard, by the clock that says it is now.
func (s *Store) HearsSince(now time.Time) time.Time {
	h := &s.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.deaf: // and this is the first that succeeds again
		return now
	case s.Opt.Clock != nil:
		return h.since
	}
	return now.Add(-time.Since(h.since))
}
