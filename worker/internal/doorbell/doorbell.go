// Package doorbell answers the rings of a queue's doorbell: messages of a broker
// that name a job to claim. A ring is acknowledged after its job was claimed or
// is gone, and put off if the job cannot run yet. A message that is lost or
// repeated costs nothing, because the job stays in the store.
package doorbell

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

const (
	// answerWait is the timeout of one answer to a doorbell.
	answerWait = 10 * time.Second
	// answering is the most answers of a consumer that are under way. At that number
	// the consumer stops claiming until a slow broker has caught up.
	answering = 16
	// maxDeliveries is how often a ticket is tried. A ticket that was unusable that
	// often is dropped, long before the message broker treats it as poison. The
	// server rings again for a job that stays ready.
	maxDeliveries = 7
)

// Doorbell receives the answers to rings.
type Doorbell interface {
	Ack(ctx context.Context, rs []job.Ring) error
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
}

// Answers sends the answers of one consumer.
type Answers struct {
	log   *slog.Logger
	queue string
	bell  Doorbell

	underWay sync.WaitGroup
	slots    chan struct{} // one for each answer under way
}

// New returns Answers for a queue and its doorbell.
func New(log *slog.Logger, queue string, bell Doorbell) *Answers {
	return &Answers{log: log, queue: queue, bell: bell, slots: make(chan struct{}, answering)}
}

// Wait waits for the answers that are under way.
func (a *Answers) Wait() { a.underWay.Wait() }

// Send answers rings in the background, so that no job waits for it. when
// decides when each ring comes again. An unanswered doorbell rings again, which
// is harmless.
func (a *Answers) Send(ctx context.Context, rings []job.Ring, when func(job.Ring) time.Duration) {
	groups := map[time.Duration][]job.Ring{}
	for _, r := range rings {
		groups[when(r)] = append(groups[when(r)], r)
	}
	a.slots <- struct{}{}
	a.underWay.Go(func() {
		defer func() { <-a.slots }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWait)
		defer cancel()
		for d, group := range groups {
			if err := a.send(ctx, d, group); err != nil {
				a.log.Debug("doorbell was not answered", "queue", a.queue, "rings", len(group), "error", err)
			}
		}
	})
}

func (a *Answers) send(ctx context.Context, d time.Duration, rings []job.Ring) error {
	if d == drop {
		return a.bell.Ack(ctx, rings)
	}
	return a.bell.Later(ctx, rings, d)
}

// drop is the answer to a ring that must not come again.
const drop = -1

// RetryLater returns when a ring that could not be used comes again.
func RetryLater(r job.Ring) time.Duration {
	if r.Deliveries >= maxDeliveries {
		return drop
	}
	return time.Second << max(r.Deliveries-1, 0)
}

// AtOnce makes a ring come again at once, for other workers.
func AtOnce(job.Ring) time.Duration { return 0 }

// After returns the answer to the rings of a claim. A ring that brought its job,
// or whose ticket is void, does not come again.
func After(c job.Claim) func(job.Ring) time.Duration {
	return func(r job.Ring) time.Duration {
		if slices.Contains(c.VoidTickets, r.JobID) || slices.ContainsFunc(c.Jobs, func(j job.LeasedJob) bool { return j.Job.ID == r.JobID }) {
			return drop
		}
		return RetryLater(r)
	}
}
