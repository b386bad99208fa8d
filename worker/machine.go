package worker

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/health"
)

// Unable returns the result of an attempt that this machine could not start: see
// [MachineFault]. Its job is handed back, and the worker claims no job of its
// kind for a while. Do not use it if any part of the job has started.
func (r *Run) Unable(err error) job.Finish {
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack, Error: "this machine could not begin it: " + err.Error()}
}

// NoRoom returns the result of an attempt for which this machine has no room until other attempts end. Its job is
// handed back and waits for a worker with room. An executor that uses NoRoom must be [Bounded].
func (r *Run) NoRoom(err error) job.Finish {
	r.atCapacity = true
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeHandedBack, Error: "this machine has no room for it now: " + err.Error()}
}

// Bounded is an executor with a limit of its own on attempts at the same time.
type Bounded interface {
	// Full reports whether the executor has no room, so that no job is claimed for it. It is called before each claim.
	Full() bool
}

// full returns without, plus the kinds whose executors are full.
func (w *workerRun) full(without []task.Kind) []task.Kind {
	for kind, b := range w.bounded {
		if b.Full() {
			without = append(without, kind)
		}
	}
	return without
}

// boundedOf returns the executors that may be full.
func boundedOf(all map[task.Kind]Executor) map[task.Kind]Bounded {
	found := map[task.Kind]Bounded{}
	for kind, ex := range all {
		if b, is := ex.(Bounded); is {
			found[kind] = b
		}
	}
	return found
}

// MachineFault reports whether err means a shortage on this machine: of open files, processes, memory or disk space. A job that
// has not started never causes it.
func MachineFault(err error) bool {
	return health.Short(err)
}
