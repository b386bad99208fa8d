package worker

import (
	"errors"
	"syscall"

	"github.com/belfry-run/belfry"
)

// Unable is an attempt that this machine could not begin, as [MachineFault]
// says: its job is handed back, and the worker claims no job of its kind for a
// while. It must not be the answer when anything of the job has begun.
func (r *Run) Unable(err error) belfry.Finish {
	return belfry.Finish{Ref: r.Ref(), Outcome: belfry.OutcomeHandedBack, Error: "this machine could not begin it: " + err.Error()}
}

// MachineFault reports that a machine has run out of something: open files,
// processes, memory, or room on its disk. That is never the fault of a job that
// has not begun.
func MachineFault(err error) bool {
	for _, n := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}
