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

// nudgeFloor is the shortest time between two renewals, however often the broker nudges.
const nudgeFloor = 20 * time.Millisecond

// busyFloor is how old the last renewal is at least when one is made because the first job of an idle worker has
// arrived.
const busyFloor = time.Second

// renew keeps the session alive until the context ends: three times per lease, at once when nudged or when other queues
// are to be served, and sooner again when a renewal fails. A broker that cannot nudge is elsewhere, and is asked six
// times per lease, every 5 s of the usual 30, and when an idle worker has got a job: that is how it learns that a job is
// to end, and how the broker learns that the job has arrived.
func (l *life) renew(ctx context.Context) {
	every, busy := l.ttl()/3, (<-chan struct{})(nil)
	if _, nudges := l.worker.options.Broker.(job.CancelNotifier); !nudges {
		every, busy = l.ttl()/6, l.busy
	}
	var last time.Time
	failed := patience.Backoff{First: l.ttl() / 50, Most: l.ttl() / 10}
	renewals := patience.Outage{Log: l.worker.log, What: "session cannot be renewed"}
	timer := time.NewTimer(every)
	defer timer.Stop()
	nudged := l.nudged()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-nudged:
			if pauseFor(ctx, nudgeFloor) != nil {
				return
			}
			// Asked for again before the renewal, so that no nudge falls between, whether the channel is closed or sent
			// on.
			nudged = l.nudged()
		case <-busy:
			if time.Since(last) < busyFloor {
				continue
			}
		case <-l.worker.served.Changed:
		}
		last = time.Now()
		err := l.renewOnce(ctx)
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
	// A tenth more or less, so that workers that began together part.
	return every - every/10 + jitter.N(every/5+1)
}

// nudged is nil, which never wakes, for a broker without the ability.
func (l *life) nudged() <-chan struct{} {
	if n, ok := l.worker.options.Broker.(job.CancelNotifier); ok {
		return n.Nudged(l.session.ID)
	}
	return nil
}

func (l *life) renewOnce(ctx context.Context) error {
	if !l.lease.Holds() { // to renew now would keep jobs with a session that has given them up
		l.lease.Check()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(l.ttl()/3, renewPatience))
	defer cancel()
	sent := time.Now()
	r, err := l.worker.options.Broker.Renew(ctx, l.session.ID, l.holdings())
	l.worker.options.Observer.Renewed(time.Since(sent), err)
	switch {
	case core.CodeOf(err) == core.Unauthorized:
		l.giveUp("renewal was not authorized")
	case errors.Is(err, core.ErrOutdated): // no renewal will come, so what runs stops while the session still keeps it
		l.giveUp("the database has moved on")
	case err != nil:
		return err
	case r.Lost:
		l.giveUp("renewal says so")
	case l.lease.Extend(sent):
		l.settled = r.Settled
		l.drain.Store(r.Drain)
		l.cancel(r.Cancel)
		l.follow(r.Queues)
		for _, lane := range l.allLanes() {
			lane.resize(r.Queues[lane.queue])
		}
		l.wakeLanes()
	default:
		l.lease.Check() // the answer came after the end: let the fence fall
	}
	return nil
}

// holdings is what a renewal says.
func (l *life) holdings() job.Holdings {
	has := job.Holdings{Attempts: l.refs(), Settled: l.settled}
	if queues, other := l.worker.served.Now(); other {
		has.Queues, has.ByTicket = queues, l.worker.options.byTicket(queues)
	}
	return has
}

// wakeLanes lets them see that draining began or ended, or slots were added.
func (l *life) wakeLanes() {
	for _, lane := range l.allLanes() {
		signal(lane.wake)
	}
}
