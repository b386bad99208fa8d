package worker

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/broker"
)

// Broker delivers tickets of ready jobs to the workers of a queue, such as SQS does. A delivery may come twice, late or never.
type Broker interface {
	// Receive waits up to wait for the first delivery and returns at most n deliveries. A delivery that is not acknowledged comes again
	// after a while.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Delivery, error)
	// Ack acknowledges deliveries, so that they do not come again.
	Ack(ctx context.Context, rs []job.Delivery) error
	// Later makes deliveries come again after d.
	Later(ctx context.Context, rs []job.Delivery, d time.Duration) error
}

// listenWait is the longest wait of one Receive.
const listenWait = 20 * time.Second

// claimByTicket claims the jobs whose tickets the broker delivers, and no other jobs of the queue. Deliveries are answered right after the
// claim, not when the jobs end: the lease keeps the jobs from then on, and the ticket of a repeated delivery is void.
func (c *consumer) claimByTicket(ctx context.Context, want int) (a claimResult) {
	wait := listenWait
	if c.once {
		wait = 0
	}
	begun := time.Now()
	deliveries, err := c.broker.Receive(ctx, min(want, job.MaxTickets), wait)
	if err != nil && len(deliveries) == 0 {
		c.recordReceive(ctx, err)
		a.err = err
		return a
	}
	c.recordReceive(ctx, nil)
	if len(deliveries) == 0 {
		a.early = time.Since(begun) < wait
		return a
	}
	if ctx.Err() != nil { // the consumer has stopped: leave the deliveries to other workers
		c.answers.Send(ctx, deliveries, broker.AtOnce)
		return a
	}
	without, _, _ := c.session.worker.unwell.State()
	claim, arrived, err := c.callClaim(ctx, job.ClaimRequest{
		Tickets: ticketsOf(deliveries), Want: map[string]int{c.queue: len(deliveries)}, Ahead: c.ahead(c.waitingOf(len(deliveries))), Without: c.session.worker.full(without),
	})
	if err != nil {
		a.err = err
		c.answers.Send(ctx, deliveries, broker.RetryLater)
		return a
	}
	a.attempts = arrived
	c.answers.Send(ctx, deliveries, broker.After(claim))
	return a
}

func ticketsOf(deliveries []job.Delivery) []job.Ticket {
	ts := make([]job.Ticket, len(deliveries))
	for i, r := range deliveries {
		ts[i] = r.Ticket
	}
	return ts
}

// recordReceive records an error of the broker, except errors that the end of the consumer caused.
func (c *consumer) recordReceive(ctx context.Context, err error) {
	if err == nil || ctx.Err() == nil {
		c.receives.Saw(err)
	}
}
