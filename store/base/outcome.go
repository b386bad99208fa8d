package base

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
)

var errNoRoom, errReadOnly, errDisk = errors.New("no room"), errors.New("read only"), errors.New("disk fails")

// NoRoom is the error of a transition that was rolled back because the disk of the database is full.
func NoRoom(err error) error {
	return &core.Error{
		Code:    core.Unavailable,
		Message: "the disk of the database is full",
		Hint:    "make room; nothing was half written",
		Err:     fmt.Errorf("%w: %w", errNoRoom, err),
	}
}

// ReadOnly is the error of a transition that a read-only database refused, for this reason and with this way out.
func ReadOnly(err error, reason, wayOut string) error {
	return &core.Error{Code: core.Unavailable, Message: "the database takes no writes: " + reason, Hint: wayOut, Err: fmt.Errorf("%w: %w", errReadOnly, err)}
}

// DiskFails marks an error as one of the disk of the database.
func DiskFails(err error) error { return fmt.Errorf("%w: %w", errDisk, err) }

// NoText is the error of a statement with a text that the databases cannot store, see [core.IsText].
func NoText(err error) error {
	return &core.Error{Code: core.Invalid, Message: "a text contains a character that the database cannot keep, such as NUL", Hint: "leave it out", Err: err}
}

// refusesFor is how long after a refused write a database counts as full, read-only or failing. A success proves nothing, because a
// transition without writes succeeds on such a database. Every node tries to write more often than this.
const refusesFor = 15 * time.Second

// refusal is a write that the database refused.
type refusal struct {
	at  time.Time
	why error
}

func (s *Store) sawRefusal(err error) {
	for _, why := range []error{errNoRoom, errReadOnly, errDisk} {
		if errors.Is(err, why) {
			s.refusal.Store(&refusal{time.Now(), why})
		}
	}
}

// Refuses reports whether the database recently refused writes, because its disk was full or failed or it was read-only.
func (s *Store) Refuses() (full, readOnly, fails bool) {
	r := s.refusal.Load()
	if r == nil || time.Since(r.at) >= refusesFor {
		return false, false, false
	}
	return r.why == errNoRoom, r.why == errReadOnly, r.why == errDisk //nolint:errorlint // one of these
}

// OutcomeUnknown is the error of a transition whose commit may have happened: it was sent, and its answer was lost.
func OutcomeUnknown(err error) error {
	return &core.Error{
		Code:    core.Unknown,
		Message: "the outcome is unknown: the database may have made this change",
		Hint:    "look whether it was made before you repeat the request; one with an idempotency key can be repeated",
		Err:     err,
	}
}
