package transport

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// Desk makes tickets. *store.Store has it.
type Desk interface {
	// MakeTickets makes tickets for at most n jobs of a queue that are due and were
	// not rung for, or so long ago that the bell was not heard. Two nodes that ask
	// at once are not given the same jobs. It never waits for other nodes.
	MakeTickets(ctx context.Context, queue string, n int) ([]job.Ticket, error)
	// Ready returns a channel that is closed when the queue may have more jobs to
	// ring for. Take it before asking for tickets.
	Ready(queue string) <-chan struct{}
}

// Observer is told numbers.
type Observer interface {
	// Rang says how many tickets of a queue the broker has taken. A failed try has
	// an error, and may have taken some.
	Rang(queue string, tickets int, took time.Duration, err error)
}

// Ringer publishes the tickets of one queue. Any number of nodes may ring for
// the same queue. Publisher, Desk and Queue are needed.
//
// A ticket is made, and its row committed, before it is published: a crash in
// between, like a broker that loses messages, is healed by the desk, which lets
// ring again for jobs that were not claimed in time. Refused tickets are
// kept and tried again, and until they are gone no more tickets are made: a
// ringer holds one batch.
type Ringer struct {
	Queue     string
	Desk      Desk
	Publisher Publisher
	// Batch is how many tickets are made and published at once, 1 to 1000.
	// Default: 100.
	Batch int
	// Look is how often the desk is asked although nothing woke the ringer, and so
	// how late a ticket that was not heard may be rung again. Default: 5s.
	Look time.Duration
	// Observer receives numbers for metrics. Default: none.
	Observer Observer
	// Logger gets one line when the broker fails and one when it works again.
	// Default: none.
	Logger *slog.Logger
}

// publishWait is how long one batch may take to be published.
const publishWait = 30 * time.Second

// Run rings until the context ends. It outlives every fault of the desk and of
// the broker, with growing pauses.
func (r Ringer) Run(ctx context.Context) error {
	r = r.filled()
	b := batch{
		Ringer:  r,
		making:  patience.Outage{Log: r.Logger, What: "tickets of queue " + r.Queue + " cannot be made"},
		ringing: patience.Outage{Log: r.Logger, What: "tickets of queue " + r.Queue + " cannot be published"},
	}
	pause := patience.Backoff{First: 200 * time.Millisecond, Most: 30 * time.Second}
	for ctx.Err() == nil {
		woken := r.Desk.Ready(r.Queue)
		more, some, err := b.ring(ctx)
		if some { // a broker that takes a part is not away
			pause.Reset()
		}
		if err != nil {
			pause.Sleep(ctx)
			continue
		}
		pause.Reset()
		if !more {
			r.rest(ctx, woken)
		}
	}
	return nil
}

// batch is what a ringer holds.
type batch struct {
	Ringer
	left            []job.Ticket // made and not yet published
	making, ringing patience.Outage
}

// ring publishes what is left or, if nothing is, what the desk makes. It says
// whether the desk may have more, and whether some were published.
func (b *batch) ring(ctx context.Context) (more, some bool, err error) {
	if len(b.left) == 0 {
		b.left, err = b.Desk.MakeTickets(ctx, b.Queue, b.Batch)
		saw(ctx, &b.making, err)
		if err != nil || len(b.left) == 0 {
			return false, false, err
		}
	}
	n := len(b.left)
	b.left, err = b.publish(ctx, b.left)
	saw(ctx, &b.ringing, err)
	return n >= b.Batch, len(b.left) < n, err
}

// saw takes notice of an error, but for those that our own end caused.
func saw(ctx context.Context, o *patience.Outage, err error) {
	if ctx.Err() == nil {
		o.Saw(err)
	}
}

func (r Ringer) filled() Ringer {
	if r.Batch <= 0 {
		r.Batch = 100
	}
	if r.Look <= 0 {
		r.Look = 5 * time.Second
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

func (r Ringer) publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	begun := time.Now()
	left, err = r.Publisher.Publish(ctx, ts)
	if r.Observer != nil {
		r.Observer.Rang(r.Queue, len(ts)-len(left), time.Since(begun), err)
	}
	return left, err
}

// rest waits for news. Wake-ups are hints, so it looks after a while anyway.
func (r Ringer) rest(ctx context.Context, woken <-chan struct{}) {
	timer := time.NewTimer(r.Look)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}
