package transport

import (
	"context"
	"log/slog"
	"time"

	"github.com/belfry-run/belfry/internal/patience"
	"github.com/belfry-run/belfry/job"
)

// Store creates tickets. *store.Store implements it.
type Store interface {
	// MakeTickets creates tickets for at most n due jobs of a queue that have no
	// ticket, or whose ticket was not used in time. Concurrent calls of two nodes
	// get different jobs. It never waits for other nodes.
	MakeTickets(ctx context.Context, queue string, n int) ([]job.Ticket, error)
	// Ready returns a channel that is closed when the queue may have more jobs for
	// tickets. Take the channel before calling MakeTickets.
	Ready(queue string) <-chan struct{}
}

// Observer receives numbers for metrics.
type Observer interface {
	// Published reports how many tickets of a queue the broker accepted. After an error
	// it may have accepted a part of them.
	Published(queue string, tickets int, took time.Duration, err error)
}

// Dispatcher publishes the tickets of one queue. Any number of nodes may run a
// dispatcher for the same queue. Publisher, Store and Queue are required.
//
// A ticket is created, and its row committed, before it is published. After a
// crash in between, or if the broker loses a message, the store creates another
// ticket for a job that was not claimed in time. Refused tickets are kept and
// published again. Until then no more tickets are created: a dispatcher holds one
// batch.
type Dispatcher struct {
	Queue     string
	Store     Store
	Publisher Publisher
	// Batch is how many tickets are created and published at once, 1 to 1000.
	// Default: 100.
	Batch int
	// Poll is the interval at which the store is asked without a wake-up. An unused
	// ticket may be renewed late by this time. Default: 5s.
	Poll time.Duration
	// Observer receives numbers for metrics. Default: none.
	Observer Observer
	// Logger gets one line when the broker fails and one when it works again.
	// Default: none.
	Logger *slog.Logger
}

// publishWait is the time limit to publish one batch.
const publishWait = 30 * time.Second

// Run publishes tickets until the context ends. After errors of the store or the
// broker it goes on, with growing pauses.
func (r Dispatcher) Run(ctx context.Context) error {
	r = r.filled()
	b := batch{
		Dispatcher: r,
		making:     patience.Outage{Log: r.Logger, What: "tickets of queue " + r.Queue + " cannot be made"},
		publishing: patience.Outage{Log: r.Logger, What: "tickets of queue " + r.Queue + " cannot be published"},
	}
	pause := patience.Backoff{First: 200 * time.Millisecond, Most: 30 * time.Second}
	for ctx.Err() == nil {
		woken := r.Store.Ready(r.Queue)
		more, some, err := b.dispatch(ctx)
		if some { // a broker that accepts a part is up
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

// batch holds the tickets of a dispatcher.
type batch struct {
	Dispatcher
	left               []job.Ticket // created and not yet published
	making, publishing patience.Outage
}

// dispatch publishes the remaining tickets or, if there are none, new tickets of the
// store. It reports whether the store may have more, and whether some were
// published.
func (b *batch) dispatch(ctx context.Context) (more, some bool, err error) {
	if len(b.left) == 0 {
		b.left, err = b.Store.MakeTickets(ctx, b.Queue, b.Batch)
		saw(ctx, &b.making, err)
		if err != nil || len(b.left) == 0 {
			return false, false, err
		}
	}
	n := len(b.left)
	b.left, err = b.publish(ctx, b.left)
	saw(ctx, &b.publishing, err)
	return n >= b.Batch, len(b.left) < n, err
}

// saw records an error in the outage, unless the end of ctx caused it.
func saw(ctx context.Context, o *patience.Outage, err error) {
	if ctx.Err() == nil {
		o.Saw(err)
	}
}

func (r Dispatcher) filled() Dispatcher {
	if r.Batch <= 0 {
		r.Batch = 100
	}
	if r.Poll <= 0 {
		r.Poll = 5 * time.Second
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

func (r Dispatcher) publish(ctx context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	begun := time.Now()
	left, err = r.Publisher.Publish(ctx, ts)
	if r.Observer != nil {
		r.Observer.Published(r.Queue, len(ts)-len(left), time.Since(begun), err)
	}
	return left, err
}

// rest waits for a wake-up. Wake-ups can be lost, so it also ends after Poll.
func (r Dispatcher) rest(ctx context.Context, woken <-chan struct{}) {
	timer := time.NewTimer(r.Poll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer.C:
	}
}
