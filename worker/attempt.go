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

// attempt is a job that a life holds, from the claim's arrival until the
// answer to its result.
type attempt struct {
	run     Run
	of      *piece
	lane    *lane
	arrived time.Time
	log     delivery.Log
	settled atomic.Bool
	left    atomic.Bool // behind, with its goroutine

	released bool // guarded by the life's mu: it is held no more

	mu    sync.Mutex
	cause error // it was told to end
	slot  *slot // while it runs
	begun bool
}

// begin makes an attempt of a leased job, which is the attempt's from then on.
func (a *attempt) begin(l *lane, of *piece, j *job.LeasedJob, arrived time.Time) {
	a.lane, a.of, a.arrived = l, of, arrived
	t := j.Task
	if t == nil { // from a broker outside Belfry
		t = new(task.Task)
	}
	a.log.Open(l.life.worker.ship, l.life.session.ID, job.Ref{JobID: j.Job.ID, Lease: of.lease}, outputLimit(t))
	a.run.Job, a.run.Task, a.run.Lease, a.run.Session = &j.Job, t, of.lease, l.life.session.ID
	a.run.Artifact, a.run.Secrets, a.run.inTurn = j.Artifact, j.Secrets, j.InTurn
	a.run.Stdout, a.run.Stderr, a.run.Log = a.log.Writers()
	a.run.steps.broker, a.run.tell = l.life.worker.options.Broker, l.life.worker.tell
	a.run.log, a.run.settled, a.run.lost, a.run.until = &a.log, &a.settled, l.life.gone.Done(), l.life.lease
}

// cancel ends the attempt, or keeps it from starting.
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

// ended is why the attempt must not start any more, if it must not.
func (a *attempt) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause != nil {
		return a.cause
	}
	return context.Cause(a.lane.life.work)
}

// in is the slot in which the attempt runs from now on; none when it has ended.
func (a *attempt) in(s *slot) {
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

// execute runs the attempt and gives what came of it to done. It reports
// whether the attempt ended in time: this goroutine was not left behind.
func (a *attempt) execute(s *slot, done func(a *attempt, f job.Finish, now time.Time, report bool)) (inTime bool) {
	w := a.lane.life.worker
	ex := w.options.Executors[a.run.Job.Kind]
	if ex == nil {
		done(a, a.run.Failed("this worker cannot run jobs of kind %q", a.run.Job.Kind), time.Now(), true)
		return true
	}
	a.note(func(s *Spool) error { return s.Begin(a.lane.life.session.ID, a.run.Ref(), time.Since(a.arrived)) })
	begun := time.Now()
	a.in(s)
	return s.execute(ex, &a.run, begun, w.patience(&a.run), func(f job.Finish, cause error, now time.Time, left bool) {
		if left {
			w.log.Warn("handler ignored the end of its context and was left behind",
				"job", f.JobID, "task", a.run.Job.Task, "cause", cause, "left_behind", w.left.Add(1))
		} else {
			a.in(nil)
		}
		f, report := conclude(f, cause, a.run.Timeout())
		switch unable := cause == nil && f.Outcome == job.OutcomeHandedBack; {
		case unable && a.run.noRoom:
			w.log.Debug("no room for a job, handing it back", "job", f.JobID, "why", f.Error)
		case unable:
			w.unwell.Saw(a.run.Job.Kind, false, f.Error)
		default:
			w.unwell.Saw(a.run.Job.Kind, true, "")
			f.StartedIn = core.Duration(begun.Sub(a.arrived))
		}
		w.options.Observer.Ended(a.lane.queue, a.run.Job.Kind, f.Outcome, now.Sub(begun))
		a.left.Store(left)
		done(a, f, now, report && !a.lane.life.lost())
		if left {
			a.lane.leave()
		}
	}, a.late)
}

func (a *attempt) late(f job.Finish) {
	// The goroutine that left this one behind may not have come to say so yet. It is
	// no runner any more, and must not take its leave a second time.
	a.left.Store(true)
	w := a.lane.life.worker
	w.log.Warn("handler that was left behind has ended",
		"job", f.JobID, "task", a.run.Job.Task, "outcome", f.Outcome, "error", f.Error, "left_behind", w.left.Add(-1))
}

// unstarted is the result of an attempt that was claimed and did not begin.
func (a *attempt) unstarted() job.Finish {
	f := job.Finish{Ref: a.run.Ref(), Outcome: job.OutcomeHandedBack}
	if errors.Is(a.ended(), ErrCanceled) {
		f.Outcome = job.OutcomeCanceled
	}
	return f
}

// report hands a result over, after the log: the result ends the lease, and
// the log needs it.
func (a *attempt) report(f job.Finish, now time.Time) {
	f.LogCut = a.log.Flush(delivery.LogPatience) || f.LogCut
	l := a.lane.life
	l.worker.tell.Flush(f.Ref)
	a.note(func(s *Spool) error { return s.Keep(l.session.ID, f) })
	l.worker.reports.Put(delivery.Report{
		Session: l.session.ID, Finish: f, Since: now,
		Expected: a.settled.Load(), Spooled: a.spool() != nil,
		Owner: a,
	})
}

// note writes into the spool, if the attempt is one for it. That it cannot be
// written keeps nothing from running.
func (a *attempt) note(write func(*Spool) error) {
	s := a.spool()
	if s == nil {
		return
	}
	if err := write(s); err != nil {
		a.lane.life.worker.log.Warn("spool cannot be written; a crash now would leave the job to the end of its lease", "job", a.run.Job.ID, "error", err)
	}
}

func (a *attempt) spool() *Spool {
	if a.run.Job.Kind != task.KindProgram {
		return nil
	}
	return a.lane.life.worker.options.Spool
}

// Answered is called once the result has been answered or given up.
func (a *attempt) Answered() {
	a.forget()
	a.lane.life.release(a)
}

func (a *attempt) forget() {
	a.note(func(s *Spool) error { return s.Forget(a.run.Ref()) })
}
