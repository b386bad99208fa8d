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

// session is one lease holder of a worker, from its opening to its end or loss, with its consumers and attempts.
type session struct {
	worker *workerRun
	info   job.Session
	lease  *lease.Lease
	once   bool // return when nothing is ready

	// lostCtx ends only when the session is lost. Renewals run under it, even while attempts are being stopped.
	lostCtx context.Context
	endLost context.CancelCauseFunc
	// workCtx is the parent context of attempts. It outlives the context that asks for shutdown by the grace. Its cause is
	// the reason of its end.
	workCtx context.Context
	endWork context.CancelCauseFunc

	drain   atomic.Bool
	settled int64         // of the last renewal; used only by the renewal loop
	busy    chan struct{} // receives when the session gets its first job after holding none
	claimed atomic.Int64
	claims  patience.Outage // guarded by mu

	mu        sync.Mutex
	held      map[*attemptGroup]bool
	consumers []*consumer
	running   context.Context // of the consumers; nil: the consumers do not run
	serving   sync.WaitGroup  // the running consumers
}

// openSession opens a session. Its lease counts from before the call.
func openSession(ctx context.Context, w *workerRun, once bool) (*session, error) {
	callCtx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	queues := w.served.Begin()
	if w.options.makes != nil {
		if err := w.options.makes.EnsureQueues(callCtx, slices.Sorted(maps.Keys(queues))...); err != nil {
			return nil, err
		}
	}
	sent := time.Now()
	info, err := w.options.Leaser.OpenSession(callCtx, w.options.info(queues))
	if err != nil {
		return nil, err
	}
	s := &session{worker: w, info: info, once: once, held: map[*attemptGroup]bool{}, busy: make(chan struct{}, 1)}
	s.claims = patience.Outage{Log: w.log, What: "jobs cannot be claimed"}
	s.lostCtx, s.endLost = context.WithCancelCause(context.WithoutCancel(ctx))
	s.workCtx, s.endWork = context.WithCancelCause(s.lostCtx)
	for queue := range queues {
		if _, ok := info.Queues[queue]; !ok {
			w.log.Warn("queue is not served: it does not exist, or its jobs are claimed by the tickets of a broker alone", "queue", queue)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(info.Queues)) {
		consumer := newConsumer(s, queue, slotsOf(info.Queues[queue]))
		consumer.once = once
		s.consumers = append(s.consumers, consumer)
	}
	s.lease = lease.New(sent, s.ttl(), s.stopAttempts, s.killAttempts)
	return s, nil
}

// slotsOf returns the number of slots for a queue's concurrency of n.
func slotsOf(n int) int {
	if n <= 0 {
		return job.DefaultConcurrency
	}
	return n
}

func (s *session) ttl() time.Duration {
	if s.info.TTL <= 0 {
		return job.DefaultSessionTTL.D()
	}
	return s.info.TTL.D()
}

// Timeouts of calls that open and close sessions.
const (
	openWait  = 15 * time.Second
	closeWait = 5 * time.Second
)

// serve runs the consumers until the context ends or the session is lost, then ends
// the session. It returns when all its goroutines have ended.
func (s *session) serve(ctx context.Context) (err error) {
	defer s.endWork(ErrShutdown)
	defer s.lease.Stop()
	renewing, stopRenewing := context.WithCancel(s.lostCtx)
	var loop sync.WaitGroup
	loop.Go(func() { s.renew(renewing) })
	defer loop.Wait()
	defer stopRenewing()
	err = s.runConsumers(ctx)
	if s.lost() || s.lease.Ended() { // all attempts have stopped, so there is nothing to wait for
		s.endLost(ErrLost)
		s.worker.options.Observer.Lost(s.heldCount())
		return ErrLost
	}
	return errors.Join(err, s.closeSession(ctx))
}

// runConsumers runs the consumers until they end: with once by themselves, otherwise with the context or the session.
func (s *session) runConsumers(ctx context.Context) error {
	claims, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.workCtx, stop)() // ends when the session must stop, or is lost
	ended := make(chan struct{})
	var grace sync.WaitGroup
	grace.Go(func() { s.limitGrace(ctx, ended) })
	defer grace.Wait()
	defer close(ended)
	if !s.once {
		s.serveQueues(claims)
		return nil
	}
	for {
		before := s.claimed.Load()
		if err := s.runConsumersOnce(claims); err != nil {
			return err
		}
		// A consumer that ended late may have made jobs ready for a consumer that ended early.
		if claims.Err() != nil || s.drain.Load() || s.claimed.Load() == before {
			return nil
		}
	}
}

// runConsumersOnce runs each consumer until its queue has no ready job.
func (s *session) runConsumersOnce(ctx context.Context) error {
	errs := make([]error, len(s.consumers))
	var consumers sync.WaitGroup
	for i, consumer := range s.consumers {
		consumers.Go(func() { errs[i] = consumer.run(ctx) })
	}
	consumers.Wait()
	return errors.Join(errs...)
}

// limitGrace cancels running attempts when the grace after the shutdown is over.
func (s *session) limitGrace(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(max(0, s.worker.options.Grace))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		s.endWork(ErrShutdown)
	}
}

// closeSession delivers the last results and closes the session, which hands back jobs that a canceled claim may have
// leased. If results cannot be delivered, the session stays open and is lost later: handing back a job that has run would
// run it again, which its task may forbid.
func (s *session) closeSession(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	flush, cancel := context.WithTimeout(ctx, s.worker.options.Linger)
	defer cancel()
	if !s.worker.reports.Flush(flush) {
		return core.Errorf(core.Unavailable, "results of %d jobs could not be delivered", s.heldCount())
	}
	closing, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	return s.worker.options.Leaser.CloseSession(closing, s.info.ID)
}

// stopAttempts asks running attempts to stop, because the lease ends without a renewal.
// Their results are not reported: another worker may run their jobs.
func (s *session) stopAttempts() {
	s.worker.log.Warn("session could not be renewed in time, stopping its jobs",
		"session", s.info.ID, "jobs", s.heldCount())
	s.endWork(ErrLost)
}

// killAttempts declares the session lost, which kills the running attempts.
func (s *session) killAttempts() { s.endLost(ErrLost) }

// endSession ends the session because the server reported the end of its session.
func (s *session) endSession(why string) {
	s.worker.log.Warn("session was given up by the server, stopping its jobs",
		"session", s.info.ID, "jobs", s.heldCount(), "why", why)
	s.endLost(ErrLost)
}

func (s *session) lost() bool { return s.lostCtx.Err() != nil }

// recordClaim records an error of a claim, except errors that the end of the consumer caused.
func (s *session) recordClaim(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	s.mu.Lock()
	s.claims.Saw(err)
	s.mu.Unlock()
	switch {
	case core.CodeOf(err) == core.Unauthorized:
		s.endSession("claim was not authorized")
	case errors.Is(err, core.ErrOutdated):
		s.endSession("the database has moved on")
	}
	return err
}

// holdJobs takes over the jobs of a claim. Jobs that arrive too late, or after the loss of the session, are not started:
// another worker may have them.
func (s *session) holdJobs(consumer *consumer, c job.Claim, inTime bool) []*attempt {
	if len(c.Jobs) == 0 {
		return nil
	}
	if !inTime || s.lost() || !s.lease.Holds() {
		s.handBackLate(c)
		return nil
	}
	groups := consumer.groupAttempts(c, time.Now())
	s.claimed.Add(int64(len(c.Jobs)))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		signal(s.busy)
	}
	attempts := make([]*attempt, 0, len(c.Jobs))
	for _, g := range groups {
		s.held[g] = true
		for i := range g.attempts {
			attempts = append(attempts, &g.attempts[i])
		}
	}
	return attempts
}

// handBackLate hands jobs back at once. If another worker has them already, the lease is stale, which is expected.
func (s *session) handBackLate(c job.Claim) {
	s.worker.log.Warn("jobs arrived too late and are handed back", "session", s.info.ID, "jobs", len(c.Jobs))
	for _, j := range c.Jobs {
		s.worker.reports.Put(delivery.Report{
			Session: s.info.ID, Since: time.Now(), Expected: true,
			Finish: job.Finish{
				Ref:     job.Ref{JobID: j.Job.ID, Lease: c.Lease},
				Outcome: job.OutcomeHandedBack,
			},
		})
	}
}

// release forgets an attempt whose result was answered or is not wanted.
func (s *session) release(a *attempt) {
	s.mu.Lock()
	if !a.released {
		a.released = true
		if a.group.held--; a.group.held == 0 {
			delete(s.held, a.group)
		}
	}
	s.mu.Unlock()
	a.consumer.countUnsettled(-1)
}

// heldCount returns how many attempts the session holds, running and waiting ones.
func (s *session) heldCount() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.held {
		n += g.held
	}
	return n
}

// heldJobs returns the references of the attempts that the session holds, for a renewal.
func (s *session) heldJobs() (all []job.Holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for g := range s.held {
		for i := range g.attempts {
			if a := &g.attempts[i]; !a.released {
				all = append(all, job.Holding{Ref: a.run.Ref(), Waiting: !a.hasBegun()})
			}
		}
	}
	return all
}

// cancel ends attempts that were asked to end.
func (s *session) cancel(refs []job.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		for g := range s.held {
			if g.lease != ref.Lease {
				continue
			}
			if a := g.find(ref.JobID); a != nil {
				a.cancel(ErrCanceled)
				signal(a.consumer.wake)
			}
		}
	}
}
