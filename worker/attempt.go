package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/delivery"
)

// attempt is a job that a session holds, from the arrival of its claim until the
// server answers its result.
type attempt struct {
	run        Run
	group      *attemptGroup
	consumer   *consumer
	log        delivery.Log
	settled    atomic.Bool
	leftBehind atomic.Bool // it was left behind, with its goroutine

	released bool // the session no longer holds it; guarded by the session's mu

	mu    sync.Mutex
	cause error // why it was told to end; nil: it was not
	slot  *slot // nil while it does not run
	begun bool
}

// begin fills the attempt from a leased job. The attempt owns the job from then on.
func (a *attempt) begin(c *consumer, of *attemptGroup, j *job.LeasedJob, arrived time.Time) {
	a.consumer, a.group, a.run.Arrived = c, of, arrived
	t := j.Task
	if t == nil { // from a server outside Belfry
		t = new(task.Task)
	}
	a.log.Open(c.session.worker.logs, c.session.info.ID, job.Ref{JobID: j.Job.ID, Lease: of.lease}, outputLimit(t))
	a.run.Job, a.run.Task, a.run.Lease, a.run.Session = &j.Job, t, of.lease, c.session.info.ID
	a.run.Artifact, a.run.Secrets, a.run.inTurn = j.Artifact, j.Secrets, j.InTurn
	a.run.Stdout, a.run.Stderr, a.run.Log = a.log.Writers()
	a.run.steps.leaser, a.run.progress = c.session.worker.options.Leaser, c.session.worker.progress
	a.run.log, a.run.settled, a.run.lost, a.run.until = &a.log, &a.settled, c.session.lostCtx.Done(), c.session.lease
}

// cancel ends the attempt, or prevents its start.
func (a *attempt) cancel(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause == nil {
		a.cause = cause
	}
	if a.slot != nil {
		a.slot.cancel(cause)
	}
}

// stopCause returns why the attempt must not start, or nil if it may.
func (a *attempt) stopCause() error {
	a.consumer.session.lease.Holds() // ends workCtx if not
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause != nil {
		return a.cause
	}
	return context.Cause(a.consumer.session.workCtx)
}

// setSlot sets the slot in which the attempt runs; nil when it has ended.
func (a *attempt) setSlot(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slot, a.begun = s, true
	if s != nil && a.cause != nil {
		s.cancel(a.cause)
	}
}

func (a *attempt) hasBegun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

// execute runs the attempt and passes its result to done. It reports whether the
// attempt ended in time, so that this goroutine was not left behind.
func (a *attempt) execute(s *slot, done func(a *attempt, f job.Finish, now time.Time, report bool)) (inTime bool) {
	w := a.consumer.session.worker
	ex := w.options.Executors[a.run.Job.Kind]
	if ex == nil {
		done(a, a.run.Failed("this worker cannot run jobs of kind %q", a.run.Job.Kind), time.Now(), true)
		return true
	}
	a.writeSpool(func(s *Spool) error {
		return s.Begin(a.consumer.session.info.ID, a.run.Ref(), time.Since(a.run.Arrived))
	})
	begun := time.Now()
	a.setSlot(s)
	return s.execute(ex, &a.run, begun, w.stopTimeout(&a.run), func(f job.Finish, cause error, now time.Time, left bool) {
		if left {
			w.log.Warn("handler ignored the end of its context and was left behind",
				"job", f.JobID, "task", a.run.Job.Task, "cause", cause, "left_behind", w.left.Add(1))
		} else {
			a.setSlot(nil)
		}
		f, report := conclude(f, cause, a.run.Timeout())
		switch unable := cause == nil && f.Outcome == job.OutcomeHandedBack; {
		case unable && a.run.atCapacity:
			w.log.Debug("no room for a job, handing it back", "job", f.JobID, "why", f.Error)
		case unable:
			w.unwell.Record(a.run.Job.Kind, false, f.Error)
		default:
			w.unwell.Record(a.run.Job.Kind, true, "")
			f.StartedIn = core.Duration(begun.Sub(a.run.Arrived))
		}
		w.options.Observer.Ended(a.consumer.queue, a.run.Job.Kind, f.Outcome, now.Sub(begun))
		a.leftBehind.Store(left)
		done(a, f, now, report && !a.consumer.session.lost())
		if left {
			a.consumer.abandonRunner()
		}
	}, a.endedLate)
}

func (a *attempt) endedLate(f job.Finish) {
	// The goroutine that left this one behind may not have recorded it yet. This
	// one is no longer a runner and must not leave the consumer a second time.
	a.leftBehind.Store(true)
	w := a.consumer.session.worker
	w.log.Warn("handler that was left behind has ended",
		"job", f.JobID, "task", a.run.Job.Task, "outcome", f.Outcome, "error", f.Error, "left_behind", w.left.Add(-1))
}

// unstartedResult returns the result of an attempt that was claimed and did not begin.
func (a *attempt) unstartedResult() job.Finish {
	f := job.Finish{Ref: a.run.Ref(), Outcome: job.OutcomeHandedBack}
	if errors.Is(a.stopCause(), ErrCanceled) {
		f.Outcome = job.OutcomeCanceled
	}
	return f
}

// report delivers the log and then the result: the log needs the lease, which
// the result ends.
func (a *attempt) report(f job.Finish, now time.Time) {
	f.LogCut = a.log.Flush(delivery.LogPatience) || f.LogCut
	s := a.consumer.session
	s.worker.progress.Flush(f.Ref)
	a.writeSpool(func(spool *Spool) error { return spool.Keep(s.info.ID, f) })
	s.worker.reports.Put(delivery.Report{
		Session: s.info.ID, Finish: f, Since: now,
		Expected: a.settled.Load(), Spooled: a.spool() != nil,
		Owner: a,
	})
}

// writeSpool writes into the spool, if the attempt uses one. The attempt runs even if
// the spool cannot be written.
func (a *attempt) writeSpool(write func(*Spool) error) {
	s := a.spool()
	if s == nil {
		return
	}
	if err := write(s); err != nil {
		a.consumer.session.worker.log.Warn("spool cannot be written; a crash now would leave the job to the end of its lease", "job", a.run.Job.ID, "error", err)
	}
}

func (a *attempt) spool() *Spool {
	if a.run.Job.Kind != task.KindProgram {
		return nil
	}
	return a.consumer.session.worker.options.Spool
}

// Answered is called once, when the result was answered or given up.
func (a *attempt) Answered() {
	a.removeSpooled()
	a.consumer.session.release(a)
}

func (a *attempt) removeSpooled() {
	a.writeSpool(func(s *Spool) error { return s.Forget(a.run.Ref()) })
}
