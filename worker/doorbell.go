package worker

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/doorbell"
)

// Doorbell tells the workers of a queue which jobs are ready, through a message broker such as SQS. A ring may come twice,
// late or never.
type Doorbell interface {
	// Receive waits up to wait for the first ring and returns at most n rings. A ring that is not acknowledged comes again
	// after a while.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Ring, error)
	// Ack acknowledges rings, so that they do not come again.
	Ack(ctx context.Context, rs []job.Ring) error
	// Later makes rings come again after d.
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
}

// listenWait is the longest wait of one Receive.
const listenWait = 20 * time.Second

// claimByDoorbell claims the jobs for which a doorbell rings, and no other jobs of the queue. Rings are answered right after the
// claim, not when the jobs end: the lease keeps the jobs from then on, and the ticket of a repeated ring is void.
func (c *consumer) claimByDoorbell(ctx context.Context, want int) (a claimResult) {
	wait := listenWait
	if c.once {
		wait = 0
	}
	begun := time.Now()
	rings, err := c.doorbell.Receive(ctx, min(want, job.MaxTickets), wait)
	if err != nil && len(rings) == 0 {
		c.recordReceive(ctx, err)
		a.err = err
		return a
	}
	c.recordReceive(ctx, nil)
	if len(rings) == 0 {
		a.early = time.Since(begun) < wait
		return a
	}
	if ctx.Err() != nil { // the consumer has stopped: leave the rings to other workers
		c.answers.Send(ctx, rings, doorbell.AtOnce)
		return a
	}
	without, _, _ := c.session.worker.unwell.State()
	claim, arrived, err := c.callClaim(ctx, job.ClaimRequest{
		Tickets: ticketsOf(rings), Want: map[string]int{c.queue: len(rings)}, Ahead: c.ahead(c.waitingOf(len(rings))), Without: c.session.worker.full(without),
	})
	if err != nil {
		a.err = err
		c.answers.Send(ctx, rings, doorbell.RetryLater)
		return a
	}
	a.attempts = arrived
	c.answers.Send(ctx, rings, doorbell.After(claim))
	return a
}

func ticketsOf(rings []job.Ring) []job.Ticket {
	ts := make([]job.Ticket, len(rings))
	for i, r := range rings {
		ts[i] = r.Ticket
	}
	return ts
}

// recordReceive records an error of the doorbell, except errors that the end of the consumer caused.
func (c *consumer) recordReceive(ctx context.Context, err error) {
	if err == nil || ctx.Err() == nil {
		c.receives.Saw(err)
	}
}
