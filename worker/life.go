package worker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/delivery"
	"github.com/belfry-run/belfry/worker/internal/lease"
)

// life is one session of a worker, from its opening to its end.
type life struct {
	worker  *shift
	session job.Session
	lease   *lease.Lease
	once    bool // return when nothing is ready

	// gone ends when the session is lost, and with nothing else. Renewals live
	// as long, also while attempts are being stopped.
	gone context.Context
	lose context.CancelCauseFunc
	// work is what attempts run under. It outlives the context that asks for
	// shutdown, by the grace; its cause tells attempts why it ended.
	work context.Context
	end  context.CancelCauseFunc

	drain   atomic.Bool
	settled int64         // of the last renewal; only the loop of renewals knows it
	busy    chan struct{} // something is held, where nothing was
	claimed atomic.Int64
	claims  patience.Outage // guarded by mu

	mu      sync.Mutex
	held    map[*piece]bool
	lanes   []*lane
	running context.Context // of the lanes; nil: they do not run
	serving sync.WaitGroup  // of those
}

// open begins a session. The lease counts from before the call.
func open(ctx context.Context, w *shift, once bool) (*life, error) {
	callCtx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	queues := w.served.Begin()
	if w.options.makes != nil {
		if err := w.options.makes.EnsureQueues(callCtx, slices.Sorted(maps.Keys(queues))...); err != nil {
			return nil, err
		}
	}
	sent := time.Now()
	s, err := w.options.Broker.OpenSession(callCtx, w.options.info(queues))
	if err != nil {
		return nil, err
	}
	l := &life{worker: w, session: s, once: once, held: map[*piece]bool{}, busy: make(chan struct{}, 1)}
	l.claims = patience.Outage{Log: w.log, What: "jobs cannot be claimed"}
	l.gone, l.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	l.work, l.end = context.WithCancelCause(l.gone)
	for queue := range queues {
		if _, ok := s.Queues[queue]; !ok {
			w.log.Warn("queue is not served: it does not exist, or its jobs are claimed by the tickets of a broker alone", "queue", queue)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(s.Queues)) {
		lane := newLane(l, queue, slotsOf(s.Queues[queue]))
		lane.once = once
		l.lanes = append(l.lanes, lane)
	}
	l.lease = lease.New(sent, l.ttl(), l.warn, l.fence)
	return l, nil
}

func slotsOf(n int) int {
	if n <= 0 {
		return job.DefaultConcurrency
	}
	return n
}

func (l *life) ttl() time.Duration {
	if l.session.TTL <= 0 {
		return job.DefaultSessionTTL.D()
	}
	return l.session.TTL.D()
}

// Longest times of calls that open and close sessions.
const (
	openWait  = 15 * time.Second
	closeWait = 5 * time.Second
)

// serve runs the lanes until the context ends or the session is lost, and
// ends the session. It returns when everything it started has ended.
func (l *life) serve(ctx context.Context) (err error) {
	defer l.end(ErrShutdown)
	defer l.lease.Stop()
	renewing, stopRenewing := context.WithCancel(l.gone)
	var loop sync.WaitGroup
	loop.Go(func() { l.renew(renewing) })
	defer loop.Wait()
	defer stopRenewing()
	err = l.runLanes(ctx)
	if l.lost() || l.lease.Ended() { // all that ran has stopped, so there is nothing to wait for
		l.lose(ErrLost)
		l.worker.options.Observer.Lost(l.holding())
		return ErrLost
	}
	return errors.Join(err, l.leave(ctx))
}

// runLanes runs them until they end: for once by themselves, and else with the
// context or the session.
func (l *life) runLanes(ctx context.Context) error {
	claims, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.work, stop)() // ends when the session must stop, or is lost
	ended := make(chan struct{})
	var grace sync.WaitGroup
	grace.Go(func() { l.limitGrace(ctx, ended) })
	defer grace.Wait()
	defer close(ended)
	if !l.once {
		l.serveLanes(claims)
		return nil
	}
	for {
		before := l.claimed.Load()
		if err := l.runLanesOnce(claims); err != nil {
			return err
		}
		// A lane that ended early may have got jobs from one that ended late.
		if claims.Err() != nil || l.drain.Load() || l.claimed.Load() == before {
			return nil
		}
	}
}

func (l *life) runLanesOnce(ctx context.Context) error {
	errs := make([]error, len(l.lanes))
	var lanes sync.WaitGroup
	for i, lane := range l.lanes {
		lanes.Go(func() { errs[i] = lane.run(ctx) })
	}
	lanes.Wait()
	return errors.Join(errs...)
}

// limitGrace cancels what still runs when the grace after shutdown is over.
func (l *life) limitGrace(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(max(0, l.worker.options.Grace))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		l.end(ErrShutdown)
	}
}

// leave delivers the last results and closes the session, which hands back
// what a canceled claim may have leased. When results could not be delivered
// the session stays open and is lost in time: to hand back a job that has run
// would run it again although its task may forbid that.
func (l *life) leave(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	flush, cancel := context.WithTimeout(ctx, l.worker.options.Linger)
	defer cancel()
	if !l.worker.reports.Flush(flush) {
		return core.Errorf(core.Unavailable, "results of %d jobs could not be delivered", l.holding())
	}
	closing, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	return l.worker.options.Broker.CloseSession(closing, l.session.ID)
}

// warn stops running jobs, gently, because the lease ends without a renewal.
// Their results are not reported: another worker may be asked for them.
func (l *life) warn() {
	l.worker.log.Warn("session could not be renewed in time, stopping its jobs",
		"session", l.session.ID, "jobs", l.holding())
	l.end(ErrLost)
}

// fence falls when what runs must be gone.
func (l *life) fence() { l.lose(ErrLost) }

// giveUp ends the life because the broker says that its session is over.
func (l *life) giveUp(why string) {
	l.worker.log.Warn("session was given up by the broker, stopping its jobs",
		"session", l.session.ID, "jobs", l.holding(), "why", why)
	l.lose(ErrLost)
}

func (l *life) lost() bool { return l.gone.Err() != nil }

// sawClaim takes notice of a claim's error, but for those that our own end
// caused.
func (l *life) sawClaim(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	l.mu.Lock()
	l.claims.Saw(err)
	l.mu.Unlock()
	switch {
	case core.CodeOf(err) == core.Unauthorized:
		l.giveUp("claim was not authorized")
	case errors.Is(err, core.ErrOutdated):
		l.giveUp("the database has moved on")
	}
	return err
}

// hold takes a claim's jobs over. Those that arrive too late, or after the
// session was lost, are not started: another worker may have them by now.
func (l *life) hold(lane *lane, c job.Claim, inTime bool) []*attempt {
	if len(c.Jobs) == 0 {
		return nil
	}
	if !inTime || l.lost() || !l.lease.Holds() {
		l.decline(c)
		return nil
	}
	pieces := lane.pieces(c, time.Now())
	l.claimed.Add(int64(len(c.Jobs)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) == 0 {
		signal(l.busy)
	}
	attempts := make([]*attempt, 0, len(c.Jobs))
	for _, p := range pieces {
		l.held[p] = true
		for i := range p.attempts {
			attempts = append(attempts, &p.attempts[i])
		}
	}
	return attempts
}

// decline hands jobs back at once. If another worker has them already the
// answer is that the lease is stale, which is expected.
func (l *life) decline(c job.Claim) {
	l.worker.log.Warn("jobs arrived too late and are handed back", "session", l.session.ID, "jobs", len(c.Jobs))
	for _, j := range c.Jobs {
		l.worker.reports.Put(delivery.Report{
			Session: l.session.ID, Since: time.Now(), Expected: true,
			Finish: job.Finish{
				Ref:     job.Ref{JobID: j.Job.ID, Lease: c.Lease},
				Outcome: job.OutcomeHandedBack,
			},
		})
	}
}

// release forgets an attempt whose result was answered, or is not wanted.
func (l *life) release(a *attempt) {
	l.mu.Lock()
	if !a.released {
		a.released = true
		if a.of.held--; a.of.held == 0 {
			delete(l.held, a.of)
		}
	}
	l.mu.Unlock()
	a.lane.count(-1)
}

func (l *life) holding() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.held {
		n += p.held
	}
	return n
}

func (l *life) refs() (all []job.Holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.held {
		for i := range p.attempts {
			if a := &p.attempts[i]; !a.released {
				all = append(all, job.Holding{Ref: a.run.Ref(), Waiting: !a.hasBegun()})
			}
		}
	}
	return all
}

// cancel ends attempts that were asked to end.
func (l *life) cancel(refs []job.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ref := range refs {
		for p := range l.held {
			if p.lease != ref.Lease {
				continue
			}
			if a := p.find(ref.JobID); a != nil {
				a.cancel(ErrCanceled)
				signal(a.lane.wake)
			}
		}
	}
}
