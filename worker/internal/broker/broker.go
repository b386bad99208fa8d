// Package broker answers the deliveries of a queue's broker: messages that name a
// job to claim. A delivery is acknowledged after its job was claimed or
// is gone, and put off if the job cannot run yet. A message that is lost or
// repeated costs nothing, because the job stays in the store.
package broker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

const (
	// answerWait is the timeout of one answer to the broker.
	answerWait = 10 * time.Second
	// answering is the most answers of a consumer that are under way. At that number
	// the consumer stops claiming until a slow broker has caught up.
	answering = 16
	// maxDeliveries is how often a ticket is tried. A ticket that was unusable that
	// often is dropped, long before the message broker treats it as poison. The
	// server sends another ticket for a job that stays ready.
	maxDeliveries = 7
)

// Broker receives the answers to deliveries.
type Broker interface {
	Ack(ctx context.Context, rs []job.Delivery) error
	Later(ctx context.Context, rs []job.Delivery, d time.Duration) error
}

// Answers sends the answers of one consumer.
type Answers struct {
	log    *slog.Logger
	queue  string
	broker Broker

	underWay sync.WaitGroup
	slots    chan struct{} // one for each answer under way
}

// New returns Answers for a queue and its broker.
func New(log *slog.Logger, queue string, broker Broker) *Answers {
	return &Answers{log: log, queue: queue, broker: broker, slots: make(chan struct{}, answering)}
}

// Wait waits for the answers that are under way.
func (a *Answers) Wait() { a.underWay.Wait() }

// Send answers deliveries in the background, so that no job waits for it. when
// decides when each delivery comes again. A message without an answer comes again, which
// is harmless.
func (a *Answers) Send(ctx context.Context, deliveries []job.Delivery, when func(job.Delivery) time.Duration) {
	groups := map[time.Duration][]job.Delivery{}
	for _, r := range deliveries {
		groups[when(r)] = append(groups[when(r)], r)
	}
	a.slots <- struct{}{}
	a.underWay.Go(func() {
		defer func() { <-a.slots }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWait)
		defer cancel()
		for d, group := range groups {
			if err := a.send(ctx, d, group); err != nil {
				a.log.Debug("broker was not answered", "queue", a.queue, "deliveries", len(group), "error", err)
			}
		}
	})
}

func (a *Answers) send(ctx context.Context, d time.Duration, deliveries []job.Delivery) error {
	if d == drop {
		return a.broker.Ack(ctx, deliveries)
	}
	return a.broker.Later(ctx, deliveries, d)
}

// drop is the answer to a delivery that must not come again.
const drop = -1

// RetryLater returns when a delivery that could not be used comes again.
func RetryLater(r job.Delivery) time.Duration {
	if r.Count >= maxDeliveries {
		return drop
	}
	return time.Second << max(r.Count-1, 0)
}

// AtOnce makes a delivery come again at once, for other workers.
func AtOnce(job.Delivery) time.Duration { return 0 }

// After returns the answer to the deliveries of a claim. A delivery that brought its job,
// or whose ticket is void, does not come again.
func After(c job.Claim) func(job.Delivery) time.Duration {
	return func(r job.Delivery) time.Duration {
		if slices.Contains(c.VoidTickets, r.JobID) || slices.ContainsFunc(c.Jobs, func(j job.LeasedJob) bool { return j.Job.ID == r.JobID }) {
			return drop
		}
		return RetryLater(r)
	}
}
