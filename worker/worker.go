package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker/internal/delivery"
	"github.com/belfry-run/belfry/worker/internal/health"
	"github.com/belfry-run/belfry/worker/internal/logged"
	"github.com/belfry-run/belfry/worker/internal/served"
)

// Worker runs jobs.
type Worker struct {
	options Options
	served  *served.Queues
	unwell  *health.Unwell
	left    atomic.Int64 // attempts that were left behind, less those of them that have ended
}

// LeftBehind is how many attempts did not stop when they were told to and still run. Their jobs have ended without them.
func (w *Worker) LeftBehind() int { return int(max(0, w.left.Load())) } // the end may be counted first

// Unwell says of which kinds this machine cannot begin jobs at the moment, and
// why. It hands them back, and tries again after a while.
func (w *Worker) Unwell() map[task.Kind]string { return w.unwell.Said() }

// New checks the options.
func New(o Options) (*Worker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Worker{options: o, served: served.New(o.Queues), unwell: health.New(o.Logger)}, nil
}

// Run serves until the context ends. Then it claims no more, hands back what
// it had claimed and not started, gives running jobs the grace to end, cancels
// and hands back those that do not, delivers logs and results, and closes its
// session. A broker that is away, or gives up the session, does not make it
// return earlier: it waits, with growing pauses, until the broker is back. A
// broker that refuses the very first session does: a wrong token or a worker
// that it does not understand will not get better by waiting. So does a database
// that this program is too old for, at any time: what runs is stopped as when a
// session is lost, and the error has [core.ErrOutdated] in its chain.
//
// The error is that refusal, or says that the shutdown was not clean: that
// results could not be delivered, or the session not be closed.
func (w *Worker) Run(ctx context.Context) error {
	s, stop := w.startShift()
	defer stop()
	pause := patience.Backoff{First: 200 * time.Millisecond, Most: 15 * time.Second}
	sessions := patience.Outage{Log: s.log, What: "session cannot be opened"}
	for opened := false; ; {
		l, err := open(ctx, s, false)
		if ctx.Err() != nil && l == nil {
			return nil
		}
		if !opened && refusesForGood(err) || errors.Is(err, core.ErrOutdated) {
			return err
		}
		opened = opened || err == nil
		sessions.Saw(err)
		if err == nil {
			begun := time.Now()
			s.log.Info("worker serves", "worker", w.options.Name, "session", l.session.ID, "queues", logged.Queues(l.session.Queues))
			err = l.serve(ctx)
			if !errors.Is(err, ErrLost) || ctx.Err() != nil {
				return unlessLost(err)
			}
			if time.Since(begun) > l.ttl() {
				pause.Reset()
			}
		}
		pause.Sleep(ctx)
	}
}

// refusesForGood reports that a session was refused for what the worker is or
// says, and not for the state of the broker.
func refusesForGood(err error) bool {
	switch core.CodeOf(err) {
	case core.Unauthorized, core.Forbidden, core.Invalid:
		return true
	}
	return false
}

func unlessLost(err error) error {
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// RunOnce runs what is ready in its queues, and what that makes ready, until
// nothing is, and returns how many jobs it claimed. It has a session of its
// own, and unlike Run it returns when the broker fails.
func (w *Worker) RunOnce(ctx context.Context) (int, error) {
	s, stop := w.startShift()
	defer stop()
	l, err := open(ctx, s, true)
	if err != nil {
		return 0, err
	}
	err = l.serve(ctx)
	return int(l.claimed.Load()), errors.Join(err, context.Cause(ctx))
}

// shift is what all lives of one Run share, and what outlives each of them.
type shift struct {
	options Options
	log     *slog.Logger
	reports *delivery.Reporter
	ship    *delivery.Shipper
	tell    *delivery.Teller
	served  *served.Queues
	unwell  *health.Unwell
	left    *atomic.Int64 // see [Worker.LeftBehind]
	bounded map[task.Kind]Bounded
}

// startShift starts the deliverers. Stop ends them, when all was handed
// over, and waits for them.
func (w *Worker) startShift() (s *shift, stop func()) {
	o := w.options
	s = &shift{
		options: o, log: o.Logger,
		reports: delivery.NewReporter(o.Broker, o.Logger, o.Observer),
		ship:    delivery.NewShipper(o.Broker, o.Logger),
		tell:    delivery.NewTeller(o.Broker),
		served:  w.served,
		unwell:  w.unwell,
		left:    &w.left,
		bounded: boundedOf(o.Executors),
	}
	// Not a child of any context that shutdown ends: what these two deliver is
	// what shutdown waits for.
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { s.reports.Run(ctx) })
	loops.Go(func() { s.ship.Run(ctx) })
	loops.Go(func() { s.tell.Run(ctx) })
	s.deliverLeft()
	return s, func() {
		cancel()
		loops.Wait()
	}
}

// deliverLeft says what an earlier worker could not, under the leases it had.
func (s *shift) deliverLeft() {
	if s.options.Spool == nil {
		return
	}
	for _, n := range s.options.Spool.TakeLeft() {
		s.log.Warn("an earlier worker left an attempt unreported", "job", n.Finish.JobID, "lease", n.Finish.Lease,
			"outcome", n.Finish.Outcome, "error", n.Finish.Error)
		s.reports.Put(delivery.Report{
			Session: n.Session, Finish: n.Finish, Since: n.Since, Expected: true, Spooled: true, Left: true,
			Owner: n,
		})
	}
}

// patience is how long an attempt may take to stop.
func (s *shift) patience(r *Run) time.Duration {
	return s.options.Patience + killGrace(r.Task)
}

// killGrace is what a task gives its process on top of the patience.
func killGrace(t *task.Task) time.Duration {
	switch {
	case t.Command != nil:
		return t.Command.KillGrace.D()
	case t.Program != nil:
		return t.Program.KillGrace.D()
	}
	return 0
}
