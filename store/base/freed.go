package base

import (
	"errors"

	"github.com/belfry-run/belfry/core"
)

// Freed is that a key was taken when a job was written, and free a moment later when its holder was looked for.
type Freed struct{ Err *core.Error }

func (f Freed) Error() string { return f.Err.Error() }
func (f Freed) Unwrap() error { return f.Err }

// Meets is that a transition is taken back, waits for rows that another has, which may wait for it, and begins again.
type Meets struct {
	Table string
	Key   string // of its rows; "" is id
	IDs   []int64
	Makes string // a statement, with its values, that makes rows which another may be making too
	With  []any
}

func (m Meets) Error() string { return m.Unwrap().Error() }
func (m Meets) Unwrap() error {
	return core.Errorf(core.Unavailable, "other transactions changed the same rows each time").WithHint("try again in a moment; nothing was changed")
}

// freedTries is how often a transition is begun in all that finds a key freed: each time another job has come and gone.
const freedTries = 5

// AgainIfFreed takes a transition, and begins it again where a key was freed. Nothing of it was committed.
func AgainIfFreed(transition func() error) (err error) {
	for range freedTries {
		if err = transition(); !errors.As(err, new(Freed)) {
			break
		}
	}
	return err
}
