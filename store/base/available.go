package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// availability is the time since which heartbeats can be recorded. They are refused while the database is unavailable, and no
// monitor may count as down because of that.
type availability struct {
	mu    sync.Mutex
	away  bool      // the database is unavailable
	since time.Time // by this process's clock, or by Options.Clock
}

// NoteAvailability records how a use of the database ended.
func (s *Store) NoteAvailability(ctx context.Context, err error) {
	h := &s.availability
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.away:
		h.away, h.since = false, s.processNow()
	case err != nil && ctx.Err() == nil && databaseIsAway(err):
		h.away = true
	}
}

// databaseIsAway reports whether an error is a fault of the database, not of a caller.
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

// AvailableSince returns since when heartbeats can be recorded, by the clock of now.
func (s *Store) AvailableSince(now time.Time) time.Time {
	h := &s.availability
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.away: // this is the first successful use again
		return now
	case s.Opt.Clock != nil:
		return h.since
	}
	return now.Add(-time.Since(h.since))
}
