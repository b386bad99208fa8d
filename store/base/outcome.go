package base

import (
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/core"
)

var errNoRoom = errors.New("no room")

// NoRoom is the answer to a transition that was taken back because the disk of the database is full.
func NoRoom(err error) error {
	return &core.Error{
		Code:    core.Unavailable,
		Message: "the disk of the database is full",
		Hint:    "make room; nothing was half written",
		Err:     fmt.Errorf("%w: %w", errNoRoom, err),
	}
}

// sawRoom notes whether there was room for what was written last.
func (s *Store) sawRoom(err error) {
	if full := errors.Is(err, errNoRoom); full || err == nil && s.full.Load() {
		s.full.Store(full)
	}
}

// Full reports that the disk of the database had no room for what was to be written last.
func (s *Store) Full() bool { return s.full.Load() }

// OutcomeUnknown is the answer to a transition whose commit may have been carried
// out: it was sent, and the answer to it was lost.
func OutcomeUnknown(err error) error {
	return &core.Error{
		Code:    core.Unknown,
		Message: "the outcome is unknown: the database may have made this change",
		Hint:    "look whether it was made, or repeat the request with the same idempotency key",
		Err:     err,
	}
}
