// Package bell answers the rings of a queue's doorbell.
package bell

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
)

const (
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

// Doorbell is what is answered.
type Doorbell interface {
	Ack(ctx context.Context, rs []job.Ring) error
	Later(ctx context.Context, rs []job.Ring, d time.Duration) error
}

// Answers are those of one lane.
type Answers struct {
	log   *slog.Logger
	queue string
	bell  Doorbell

	underWay sync.WaitGroup
	places   chan struct{} // for those
}

// New begins without answers.
func New(log *slog.Logger, queue string, bell Doorbell) *Answers {
	return &Answers{log: log, queue: queue, bell: bell, places: make(chan struct{}, answering)}
}

// Wait waits for the answers that are under way.
func (a *Answers) Wait() { a.underWay.Wait() }

// Give tells the doorbell about each ring, beside the lane: no job waits for
// it. A doorbell that does not hear rings again, which is harmless.
func (a *Answers) Give(ctx context.Context, rings []job.Ring, when func(job.Ring) time.Duration) {
	groups := map[time.Duration][]job.Ring{}
	for _, r := range rings {
		groups[when(r)] = append(groups[when(r)], r)
	}
	a.places <- struct{}{}
	a.underWay.Go(func() {
		defer func() { <-a.places }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWait)
		defer cancel()
		for d, group := range groups {
			if err := a.tell(ctx, d, group); err != nil {
				a.log.Debug("doorbell was not answered", "queue", a.queue, "rings", len(group), "error", err)
			}
		}
	})
}

func (a *Answers) tell(ctx context.Context, d time.Duration, rings []job.Ring) error {
	if d == drop {
		return a.bell.Ack(ctx, rings)
	}
	return a.bell.Later(ctx, rings, d)
}

// drop is the answer to a ring that need not come again.
const drop = -1

// PutOff is when a ring that could not be used is to come again.
func PutOff(r job.Ring) time.Duration {
	if r.Deliveries >= maxDeliveries {
		return drop
	}
	return time.Second << max(r.Deliveries-1, 0)
}

// AtOnce lets others have a ring.
func AtOnce(job.Ring) time.Duration { return 0 }

// After is the answer to rings that a claim was made for. One that brought its
// job, or whose ticket is of no more use, need not come again.
func After(c job.Claim) func(job.Ring) time.Duration {
	return func(r job.Ring) time.Duration {
		if slices.Contains(c.VoidTickets, r.JobID) || slices.ContainsFunc(c.Jobs, func(j job.LeasedJob) bool { return j.Job.ID == r.JobID }) {
			return drop
		}
		return PutOff(r)
	}
}
