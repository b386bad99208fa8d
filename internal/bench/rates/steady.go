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

// Steady is work that goes on and on: producers and a worker beside each other.
type Steady struct {
	node.Tuning
	For     time.Duration
	Slice   time.Duration // rates are of so long
	Rate    float64       // jobs per second that come; 0: as many as keep Backlog waiting
	Backlog int
	// Burst is how long at the end of each slice as many come as keep Backlog
	// waiting, at whatever Rate they did before, and only that is counted: hours of
	// nothing else would fill the disk with what has ended.
	Burst time.Duration
	// Calm is For where nothing is in the way; 0: For.
	Calm time.Duration
}

// Run answers the rate of results in each slice.
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
		process.Pause(ctx, min(o.Slice, 2*time.Second)) // to get going
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

// counted is the rate of a slice.
func (o Steady) counted(ctx context.Context, _ *store.Store, counted *node.Tally) (float64, error) {
	before, begun := counted.N.Load(), time.Now()
	process.Pause(ctx, o.Slice)
	return float64(counted.N.Load()-before) / time.Since(begun).Seconds(), nil
}

// bursting is the rate of a slice's burst.
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

// produce has jobs come until it is told to stop.
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

// keepUp fills the backlog whenever half a batch has room in it.
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

// Horizon is what another client does in the database meanwhile, in one transaction. It keeps vacuum from removing
// anything that dies after the transaction began.
type Horizon struct {
	Name       string
	statements []string
}

// Horizons are these, the first without any.
var Horizons = []Horizon{
	{"undisturbed", nil},
	{"a snapshot held", []string{"begin isolation level repeatable read", "select count(*) from pg_class"}},
	{"a writer idle in its transaction", []string{"begin", "select txid_current()"}},
}

// Hold runs fn while a connection holds such a transaction in this database.
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
