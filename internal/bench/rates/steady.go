//go:build linux

package rates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Steady measures continuous work: producers and a worker run at the same time.
type Steady struct {
	node.Tuning
	For     time.Duration
	Slice   time.Duration // the time over which a rate is measured
	Rate    float64       // jobs enqueued per second; 0: as many as keep Backlog waiting
	Backlog int
	// Burst is the time at the end of each slice in which producers keep Backlog
	// waiting, independently of Rate. Only this time counts: hours at full rate would
	// fill the disk with finished jobs.
	Burst time.Duration
	// Calm replaces For when there is no disturbance; 0: For.
	Calm time.Duration
}

// Run returns the rate of results in each slice.
func (o Steady) Run(ctx context.Context, st *store.Store) (slices []float64, err error) {
	var h worker.Handlers
	node.Nothing(&h)
	counted := node.NewTally()
	node, err := node.Embed(ctx, st, o.Tuning, &h, counted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.Stop()) }()
	slice := o.counted
	if o.Burst > 0 {
		slice = o.bursting
	} else {
		stop := o.produce(ctx, st, counted)
		defer func() { err = errors.Join(err, stop()) }()
		process.Pause(ctx, min(o.Slice, 2*time.Second)) // warm-up
	}
	for begun := time.Now(); time.Since(begun) < o.For && ctx.Err() == nil; {
		rate, err := slice(ctx, st, counted)
		if err != nil {
			return nil, err
		}
		slices = append(slices, rate)
	}
	return slices, ctx.Err()
}

// counted returns the rate of a slice.
func (o Steady) counted(ctx context.Context, _ *store.Store, counted *node.Tally) (float64, error) {
	before, begun := counted.N.Load(), time.Now()
	process.Pause(ctx, o.Slice)
	return float64(counted.N.Load()-before) / time.Since(begun).Seconds(), nil
}

// bursting returns the rate of a slice's burst.
func (o Steady) bursting(ctx context.Context, st *store.Store, counted *node.Tally) (float64, error) {
	l := startLoad(ctx, st, o.Rate, database.NewJobs)
	process.Pause(ctx, o.Slice-o.Burst)
	if err := l.stop(); err != nil {
		return 0, err
	}
	o.Rate, o.Slice = 0, o.Burst
	stop := o.produce(ctx, st, counted)
	rate, err := o.counted(ctx, st, counted)
	return rate, errors.Join(err, stop())
}

// produce enqueues jobs until it is stopped.
func (o Steady) produce(ctx context.Context, st *store.Store, counted *node.Tally) (stop func() error) {
	if o.Rate > 0 {
		return startLoad(ctx, st, o.Rate, database.NewJobs).stop
	}
	ctx, enough := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- o.keepUp(ctx, st, counted) }()
	return func() error {
		enough()
		return <-ended
	}
}

// keepUp fills the backlog whenever it has room for half a batch.
func (o Steady) keepUp(ctx context.Context, st *store.Store, counted *node.Tally) error {
	made := counted.N.Load()
	for ctx.Err() == nil {
		free := o.Backlog - int(made-counted.N.Load())
		if free < bulk/2 {
			select {
			case <-counted.More:
			case <-ctx.Done():
			}
			continue
		}
		n := min(free, bulk)
		if _, err := st.Enqueue(context.WithoutCancel(ctx), database.NewJobs(n)); err != nil {
			return err
		}
		made += int64(n)
	}
	return nil
}

// Horizon is a long transaction of another client. It keeps vacuum from removing any row version that dies after its begin.
type Horizon struct {
	Name       string
	statements []string
}

// Horizons has the kinds of long transactions, the first without one.
var Horizons = []Horizon{
	{"undisturbed", nil},
	{"a snapshot held", []string{"begin isolation level repeatable read", "select count(*) from pg_class"}},
	{"a writer idle in its transaction", []string{"begin", "select txid_current()"}},
}

// Hold runs fn while a connection keeps such a transaction open in this database.
func (z Horizon) Hold(ctx context.Context, s *database.Site, fn func() error) (err error) {
	if len(z.statements) == 0 {
		return fn()
	}
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.Background())) }()
	for _, statement := range z.statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := fn(); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "commit"); err != nil {
		return fmt.Errorf("the transaction did not last until the end: %w", err)
	}
	return nil
}
