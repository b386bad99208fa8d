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

// Worker claims jobs of its queues and runs them.
type Worker struct {
	options Options
	served  *served.Queues
	unwell  *health.Kinds
	left    atomic.Int64 // attempts that were left behind and still run
}

// LeftBehind returns how many attempts did not stop when they were told to and still run. Their jobs have ended already.
func (w *Worker) LeftBehind() int { return int(max(0, w.left.Load())) } // an end may be counted before its start

// Unwell returns the kinds of jobs that this machine currently cannot start, with
// the last error of each. Such jobs are handed back and tried again after a while.
func (w *Worker) Unwell() map[task.Kind]string { return w.unwell.Reasons() }

// New returns a worker, or an error if an option is invalid.
func New(o Options) (*Worker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Worker{options: o, served: served.New(o.Queues), unwell: health.New(o.Logger)}, nil
}

// Run serves until ctx ends. Then it claims no more and hands back jobs that it
// claimed and did not start. Running jobs have [Options.Grace] to end; the others
// are cancelled and handed back. Finally Run delivers logs and results, and
// closes its session.
//
// If the server is unreachable or gives up the session, Run does not return: it
// retries with growing pauses. It returns early in two cases. The server refuses
// the very first session for a wrong token or an invalid worker, which waiting
// does not change. Or the database is too new for this program: running jobs are
// stopped as for a lost session, and the error wraps [core.ErrOutdated].
//
// Otherwise an error means that the shutdown was not clean: results could not be
// delivered, or the session could not be closed.
func (w *Worker) Run(ctx context.Context) error {
	run, stop := w.startRun()
	defer stop()
	pause := patience.Backoff{First: 200 * time.Millisecond, Most: 15 * time.Second}
	sessions := patience.Outage{Log: run.log, What: "session cannot be opened"}
	for opened := false; ; {
		s, err := openSession(ctx, run, false)
		if ctx.Err() != nil && s == nil {
			return nil
		}
		if !opened && refusesForGood(err) || errors.Is(err, core.ErrOutdated) {
			return err
		}
		opened = opened || err == nil
		sessions.Saw(err)
		if err == nil {
			begun := time.Now()
			run.log.Info("worker serves", "worker", w.options.Name, "session", s.info.ID, "queues", logged.Queues(s.info.Queues))
			err = s.serve(ctx)
			if !errors.Is(err, ErrLost) || ctx.Err() != nil {
				return unlessLost(err)
			}
			if time.Since(begun) > s.ttl() {
				pause.Reset()
			}
		}
		pause.Sleep(ctx)
	}
}

// refusesForGood reports whether a session was refused because of the worker itself,
// not because of the state of the server.
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

// RunOnce runs the ready jobs of its queues, and jobs that these make ready,
// until none is left, and returns the number of claimed jobs. It has its own
// session. Unlike Run, it returns when the server fails.
func (w *Worker) RunOnce(ctx context.Context) (int, error) {
	run, stop := w.startRun()
	defer stop()
	s, err := openSession(ctx, run, true)
	if err != nil {
		return 0, err
	}
	err = s.serve(ctx)
	return int(s.claimed.Load()), errors.Join(err, context.Cause(ctx))
}

// workerRun is the state of one Run that its sessions share, and that outlives them.
type workerRun struct {
	options  Options
	log      *slog.Logger
	reports  *delivery.Reporter
	logs     *delivery.Shipper
	progress *delivery.ProgressSender
	served   *served.Queues
	unwell   *health.Kinds
	left     *atomic.Int64 // see [Worker.LeftBehind]
	bounded  map[task.Kind]Bounded
}

// startRun starts the delivery of results, logs and progress. Call stop when
// all was passed on; it ends the delivery and waits for that.
func (w *Worker) startRun() (run *workerRun, stop func()) {
	o := w.options
	run = &workerRun{
		options: o, log: o.Logger,
		reports:  delivery.NewReporter(o.Leaser, o.Logger, o.Observer),
		logs:     delivery.NewShipper(o.Leaser, o.Logger),
		progress: delivery.NewProgressSender(o.Leaser),
		served:   w.served,
		unwell:   w.unwell,
		left:     &w.left,
		bounded:  boundedOf(o.Executors),
	}
	// Not a child of a context that shutdown ends: shutdown waits for the delivery
	// of results and logs.
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { run.reports.Run(ctx) })
	loops.Go(func() { run.logs.Run(ctx) })
	loops.Go(func() { run.progress.Run(ctx) })
	run.reportSpooled()
	return run, func() {
		cancel()
		loops.Wait()
	}
}

// reportSpooled reports the results that an earlier worker left in the spool, under their leases.
func (w *workerRun) reportSpooled() {
	if w.options.Spool == nil {
		return
	}
	for _, n := range w.options.Spool.TakeLeft() {
		w.log.Warn("an earlier worker left an attempt unreported", "job", n.Finish.JobID, "lease", n.Finish.Lease,
			"outcome", n.Finish.Outcome, "error", n.Finish.Error)
		w.reports.Put(delivery.Report{
			Session: n.Session, Finish: n.Finish, Since: n.Since, Expected: true, Spooled: true, Left: true,
			Owner: n,
		})
	}
}

// stopTimeout returns how long an attempt may take to stop.
func (w *workerRun) stopTimeout(r *Run) time.Duration {
	return w.options.Patience + killGrace(r.Task)
}

// killGrace returns the time that a task gives its process in addition to the patience.
func killGrace(t *task.Task) time.Duration {
	switch {
	case t.Command != nil:
		return t.Command.KillGrace.D()
	case t.Program != nil:
		return t.Program.KillGrace.D()
	}
	return 0
}
