package base

import (
	"errors"
	"fmt"
	"time"

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

// NoText is the answer to a statement with a text that the databases do not keep, see [core.IsText].
func NoText(err error) error {
	return &core.Error{Code: core.Invalid, Message: "a text contains a character that the database cannot keep, such as NUL", Hint: "leave it out", Err: err}
}

// fullFor is for how long a disk is taken for full. Every node tries to write more often, and a transition that finds
// nothing to write goes well on a full one.
const fullFor = 15 * time.Second

func (s *Store) sawRoom(err error) {
	if errors.Is(err, errNoRoom) {
		now := time.Now()
		s.full.Store(&now)
	}
}

// Full reports that the disk of the database had no room lately.
func (s *Store) Full() bool {
	at := s.full.Load()
	return at != nil && time.Since(*at) < fullFor
}

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
