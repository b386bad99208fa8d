package worker

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker/internal/bell"
)

// Doorbell tells the workers of a queue which of its jobs are ready, through a broker such as SQS. It may ring twice,
// late or not at all.
type Doorbell interface {
	// Receive waits for the first ring, up to wait, and answers at most n. A ring comes again after a while unless it is
	// acknowledged.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Ring, error)
	// Ack says that rings need not come again.
	Ack(ctx context.Context, rs []job.Ring) error
	// Later lets rings come again after d.
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
}

// listenWait is how long a lane listens at once.
const listenWait = 20 * time.Second

// listen claims what a doorbell rings for. Nothing else of the queue is claimed. The rings are answered right after the
// claim and not when the jobs end: from then on the lease keeps them, and a ring that comes again finds its ticket void.
func (l *lane) listen(ctx context.Context, want int) (a answer) {
	wait := listenWait
	if l.once {
		wait = 0
	}
	begun := time.Now()
	rings, err := l.bell.Receive(ctx, min(want, job.MaxTickets), wait)
	if err != nil && len(rings) == 0 {
		l.sawBell(ctx, err)
		a.err = err
		return a
	}
	l.sawBell(ctx, nil)
	if len(rings) == 0 {
		a.early = time.Since(begun) < wait
		return a
	}
	if ctx.Err() != nil { // no slot here has use for them
		l.answers.Give(ctx, rings, bell.AtOnce)
		return a
	}
	without, _, _ := l.life.worker.unwell.State()
	claim, arrived, err := l.ask(ctx, job.ClaimRequest{
		Tickets: ticketsOf(rings), Want: map[string]int{l.queue: len(rings)}, Ahead: l.ahead(l.beyond(len(rings))), Without: l.life.worker.full(without),
	})
	if err != nil {
		a.err = err
		l.answers.Give(ctx, rings, bell.PutOff)
		return a
	}
	a.attempts = arrived
	l.answers.Give(ctx, rings, bell.After(claim))
	return a
}

func ticketsOf(rings []job.Ring) []job.Ticket {
	ts := make([]job.Ticket, len(rings))
	for i, r := range rings {
		ts[i] = r.Ticket
	}
	return ts
}

// sawBell takes notice of a doorbell's error, but for those that our own end caused.
func (l *lane) sawBell(ctx context.Context, err error) {
	if err == nil || ctx.Err() == nil {
		l.bells.Saw(err)
	}
}
