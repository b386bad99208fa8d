package base

import (
	"errors"

	"github.com/belfry-run/belfry/core"
)

// Freed is the error of a transition in which a key was taken at the insert of a job, but free when its holder was looked up.
type Freed struct{ Err *core.Error }

func (f Freed) Error() string { return f.Err.Error() }
func (f Freed) Unwrap() error { return f.Err }

// Meets is the error of a transition that would have to wait for rows of another transition, which may wait for this one. The
// transition is rolled back, waits for the rows without locks, and begins again.
type Meets struct {
	Table string
	Key   string // key column of the rows; "" is id
	IDs   []int64
	Makes string // a statement, with its arguments With, that makes rows which another transition may be making too
	With  []any
}

func (m Meets) Error() string { return m.Unwrap().Error() }
func (m Meets) Unwrap() error {
	return core.Errorf(core.Unavailable, "other transactions changed the same rows each time").WithHint("try again in a moment; nothing was changed")
}

// freedTries bounds the tries of a transition that finds a key freed. In each try, another job took the key and ended.
const freedTries = 5

// AgainIfFreed runs a transition, and again if it ends with [Freed]: then nothing was committed.
func AgainIfFreed(transition func() error) (err error) {
	for range freedTries {
		if err = transition(); !errors.As(err, new(Freed)) {
			break
		}
	}
	return err
}
