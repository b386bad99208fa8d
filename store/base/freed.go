package base

import (
	"errors"

	"github.com/belfry-run/belfry/core"
)

// Freed is that a key was taken when a job was written, and free a moment later when its holder was looked for.
type Freed struct{ Err *core.Error }

func (f Freed) Error() string { return f.Err.Error() }
func (f Freed) Unwrap() error { return f.Err }

// Meets is that a transition would have to wait for another that may wait for it. A database with several writers takes it
// back, waits for the rows that the other has, and begins it again.
type Meets struct {
	Err   *core.Error
	Table string // the rows
	IDs   []int64
}

// MeetsAt is that another transaction is changing rows of a table.
func MeetsAt(table string, ids []int64) Meets {
	return Meets{core.Errorf(core.Unavailable, "it is being changed by others all the time").WithHint("try again"), table, ids}
}

func (m Meets) Error() string { return m.Err.Error() }
func (m Meets) Unwrap() error { return m.Err }

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
