package worker

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/job"
)

// Doorbell tells the workers of a queue which of its jobs are ready, through a
// broker such as SQS. It may ring twice, late or not at all.
type Doorbell interface {
	// Receive waits for the first ring, up to wait, and answers at most n. A ring
	// comes again after a while unless it is acknowledged.
	Receive(ctx context.Context, n int, wait time.Duration) ([]job.Ring, error)
	// Ack says that rings need not come again.
	Ack(ctx context.Context, rs []job.Ring) error
	// Later lets rings come again after d.
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
}

const (
	// listenWait is how long a lane listens at once.
	listenWait = 20 * time.Second
	// answerWait is how long a doorbell may take to be answered.
	answerWait = 10 * time.Second
	// answering is how many answers of a lane may be under way. Beyond that it
	// claims no more, rather than leave a slow broker behind.
	answering = 16
	// maxDeliveries is how often a ticket is looked at. The server rings again for
	// a job that stays ready, so a ticket that could not be used so often is
	// dropped, long before the broker takes it for poison.
	maxDeliveries = 7
)

// listen claims what a doorbell rings for. Nothing else of the queue is claimed.
// The rings are answered right after the claim and not when the jobs end: from
// then on the lease keeps them, and a ring that comes again finds its ticket
// void.
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
	if ctx.Err() != nil { // nobody here has use for them
		l.answer(ctx, rings, atOnce)
		return a
	}
	without, _, _ := l.life.worker.unwell.State()
	claim, arrived, err := l.ask(ctx, job.ClaimRequest{
		Tickets: ticketsOf(rings), Want: map[string]int{l.queue: len(rings)}, Ahead: l.ahead(l.beyond(len(rings))), Without: l.life.worker.full(without),
	})
	if err != nil {
		a.err = err
		l.answer(ctx, rings, putOff)
		return a
	}
	a.attempts = arrived
	l.answer(ctx, rings, func(r job.Ring) time.Duration {
		if isSettled(claim, r.JobID) {
			return drop
		}
		return putOff(r)
	})
	return a
}

// drop is the answer to a ring that need not come again.
const drop = -1

// putOff is when a ring that could not be used is to come again.
func putOff(r job.Ring) time.Duration {
	if r.Deliveries >= maxDeliveries {
		return drop
	}
	return time.Second << max(r.Deliveries-1, 0)
}

// atOnce lets others have a ring.
func atOnce(job.Ring) time.Duration { return 0 }

// isSettled reports that a claim brought the job, or that a ticket for it is of
// no more use.
func isSettled(c job.Claim, work int64) bool {
	return slices.Contains(c.VoidTickets, work) || slices.ContainsFunc(c.Jobs, func(j job.LeasedJob) bool { return j.Job.ID == work })
}

func ticketsOf(rings []job.Ring) []job.Ticket {
	ts := make([]job.Ticket, len(rings))
	for i, r := range rings {
		ts[i] = r.Ticket
	}
	return ts
}

// answer tells the doorbell about each ring, beside the lane: no job waits for
// it. A doorbell that does not hear rings again, which is harmless.
func (l *lane) answer(ctx context.Context, rings []job.Ring, when func(job.Ring) time.Duration) {
	groups := map[time.Duration][]job.Ring{}
	for _, r := range rings {
		groups[when(r)] = append(groups[when(r)], r)
	}
	l.places <- struct{}{}
	l.answers.Go(func() {
		defer func() { <-l.places }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWait)
		defer cancel()
		for d, group := range groups {
			err := l.tell(ctx, d, group)
			if err != nil {
				l.life.worker.log.Debug("doorbell was not answered", "queue", l.queue, "rings", len(group), "error", err)
			}
		}
	})
}

func (l *lane) tell(ctx context.Context, d time.Duration, rings []job.Ring) error {
	if d == drop {
		return l.bell.Ack(ctx, rings)
	}
	return l.bell.Later(ctx, rings, d)
}

// sawBell takes notice of a doorbell's error, but for those that our own end
// caused.
func (l *lane) sawBell(ctx context.Context, err error) {
	if err == nil || ctx.Err() == nil {
		l.bells.Saw(err)
	}
}
