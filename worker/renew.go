package worker

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/jitter"
	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// nudgeFloor is the shortest time between two renewals, even if the server nudges more often.
const nudgeFloor = 20 * time.Millisecond

// busyFloor is the age of the last renewal from which the first job of an idle worker causes a new one.
const busyFloor = time.Second

// renew keeps the session alive until the context ends. It renews three times per lease, at once after a nudge or a
// change of the queues, and sooner after a failed renewal. A server that cannot nudge is on another machine: it gets
// six renewals per lease (every 5 s for the usual 30 s), and one when an idle worker has got a job. From the renewal
// the worker learns which jobs must end, and the server learns that the job has arrived.
func (s *session) renew(ctx context.Context) {
	every, busy := s.ttl()/3, (<-chan struct{})(nil)
	if _, nudges := s.worker.options.Leaser.(job.CancelNotifier); !nudges {
		every, busy = s.ttl()/6, s.busy
	}
	var last time.Time
	failed := patience.Backoff{First: s.ttl() / 50, Most: s.ttl() / 10}
	renewals := patience.Outage{Log: s.worker.log, What: "session cannot be renewed"}
	timer := time.NewTimer(every)
	defer timer.Stop()
	nudged := s.nudged()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-nudged:
			if pauseFor(ctx, nudgeFloor) != nil {
				return
			}
			// Read before the renewal, so that no nudge is missed, whether the channel is closed or sent on.
			nudged = s.nudged()
		case <-busy:
			if time.Since(last) < busyFloor {
				continue
			}
		case <-s.worker.served.Changed:
		}
		last = time.Now()
		err := s.renewOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		renewals.Saw(err)
		timer.Reset(nextRenewal(err, every, &failed))
	}
}

func nextRenewal(err error, every time.Duration, failed *patience.Backoff) time.Duration {
	if err != nil {
		return failed.Next()
	}
	failed.Reset()
	// Jitter of a tenth separates workers that started together.
	return every - every/10 + jitter.N(every/5+1)
}

// nudged returns the channel of nudges, or nil for a server that cannot nudge.
func (s *session) nudged() <-chan struct{} {
	if n, ok := s.worker.options.Leaser.(job.CancelNotifier); ok {
		return n.Nudged(s.info.ID)
	}
	return nil
}

func (s *session) renewOnce(ctx context.Context) error {
	if !s.lease.Holds() { // a renewal would keep jobs with a session that has given them up
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(s.ttl()/3, renewPatience))
	defer cancel()
	sent := time.Now()
	r, err := s.worker.options.Leaser.Renew(ctx, s.info.ID, s.holdings())
	s.worker.options.Observer.Renewed(time.Since(sent), err)
	switch {
	case core.CodeOf(err) == core.Unauthorized:
		s.endSession("renewal was not authorized")
	case errors.Is(err, core.ErrOutdated): // no renewal will succeed: stop attempts while the session still holds them
		s.endSession("the database has moved on")
	case err != nil:
		return err
	case r.Lost:
		s.endSession("renewal says so")
	case s.lease.Extend(sent):
		s.settled = r.Settled
		s.drain.Store(r.Drain)
		s.cancel(r.Cancel)
		s.updateConsumers(r.Queues)
		for _, consumer := range s.allConsumers() {
			consumer.resize(r.Queues[consumer.queue])
		}
		s.wakeConsumers()
	default:
		s.lease.Check() // the answer came after the end: fence at once
	}
	return nil
}

// holdings returns the content of a renewal: the held jobs.
func (s *session) holdings() job.Holdings {
	has := job.Holdings{Attempts: s.heldJobs(), Settled: s.settled}
	if queues, other := s.worker.served.Now(); other {
		has.Queues, has.ByTicket = queues, s.worker.options.byTicket(queues)
	}
	return has
}

// wakeConsumers tells the consumers that draining began or ended, or that slots were added.
func (s *session) wakeConsumers() {
	for _, consumer := range s.allConsumers() {
		signal(consumer.wake)
	}
}
