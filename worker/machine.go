package worker

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/health"
)

// Unable is an attempt that this machine could not begin, as [MachineFault]
// says: its job is handed back, and the worker claims no job of its kind for a
// while. It must not be the answer when anything of the job has begun.
func (r *Run) Unable(err error) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack, Error: "this machine could not begin it: " + err.Error()}
}

// NoRoom is an attempt for which this machine has no room until others have ended: its job is handed back,
// and waits for a worker that has. An executor that answers so is [Bounded].
func (r *Run) NoRoom(err error) job.Finish {
	r.noRoom = true
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack, Error: "this machine has no room for it now: " + err.Error()}
}

// Bounded is an executor that cannot run everything at the same time.
type Bounded interface {
	// Full reports that no job must be claimed for it now. It is asked before each claim.
	Full() bool
}

// full are the kinds of which no job must be claimed now, besides those that are unwell.
func (s *shift) full(without []task.Kind) []task.Kind {
	for kind, b := range s.bounded {
		if b.Full() {
			without = append(without, kind)
		}
	}
	return without
}

// boundedOf are the executors that may be full.
func boundedOf(all map[task.Kind]Executor) map[task.Kind]Bounded {
	found := map[task.Kind]Bounded{}
	for kind, ex := range all {
		if b, is := ex.(Bounded); is {
			found[kind] = b
		}
	}
	return found
}

// MachineFault reports that a machine has run out of something: open files, processes, memory, or room on its disk. That is
// never the fault of a job that has not begun.
func MachineFault(err error) bool {
	return health.Short(err)
}
