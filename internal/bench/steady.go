//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Steady is work that goes on and on: producers and a worker beside each other.
type Steady struct {
	Tuning
	For     time.Duration
	Slice   time.Duration // rates are of so long
	Rate    float64       // jobs per second that come; 0: as many as keep Backlog waiting
	Backlog int
	// Burst is how long at the end of each slice as many come as keep Backlog
	// waiting, at whatever Rate they did before, and only that is counted: hours of
	// nothing else would fill the disk with what has ended.
	Burst time.Duration
	// Calm is For where nobody is in the way; 0: For.
	Calm time.Duration
}

// Run answers the rate of results in each slice.
func (o Steady) Run(ctx context.Context, st *store.Store) (slices []float64, err error) {
	var h worker.Handlers
	nothing(&h)
	counted := newTally()
	node, err := embed(ctx, st, o.Tuning, &h, counted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.stop()) }()
	slice := o.counted
	if o.Burst > 0 {
		slice = o.bursting
	} else {
		stop := o.produce(ctx, st, counted)
		defer func() { err = errors.Join(err, stop()) }()
		pause(ctx, min(o.Slice, 2*time.Second)) // to get going
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
func (o Steady) counted(ctx context.Context, _ *store.Store, counted *tally) (float64, error) {
	before, begun := counted.n.Load(), time.Now()
	pause(ctx, o.Slice)
	return float64(counted.n.Load()-before) / time.Since(begun).Seconds(), nil
}

// bursting is the rate of a slice's burst.
func (o Steady) bursting(ctx context.Context, st *store.Store, counted *tally) (float64, error) {
	l := startLoad(ctx, st, o.Rate, newJobs)
	pause(ctx, o.Slice-o.Burst)
	if err := l.stop(); err != nil {
		return 0, err
	}
	o.Rate, o.Slice = 0, o.Burst
	stop := o.produce(ctx, st, counted)
	rate, err := o.counted(ctx, st, counted)
	return rate, errors.Join(err, stop())
}

// produce has jobs come until it is told to stop.
func (o Steady) produce(ctx context.Context, st *store.Store, counted *tally) (stop func() error) {
	if o.Rate > 0 {
		return startLoad(ctx, st, o.Rate, newJobs).stop
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
func (o Steady) keepUp(ctx context.Context, st *store.Store, counted *tally) error {
	made := counted.n.Load()
	for ctx.Err() == nil {
		free := o.Backlog - int(made-counted.n.Load())
		if free < bulk/2 {
			select {
			case <-counted.more:
			case <-ctx.Done():
			}
			continue
		}
		n := min(free, bulk)
		if _, err := st.Enqueue(context.WithoutCancel(ctx), newJobs(n)); err != nil {
			return err
		}
		made += int64(n)
	}
	return nil
}

// Horizon is what somebody else does in the database meanwhile, in one transaction. It keeps vacuum from removing
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
func (s *Site) Hold(ctx context.Context, z Horizon, fn func() error) (err error) {
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

// horizon is measure 6. Vacuum is a matter of PostgreSQL.
func (r *run) horizon(ctx context.Context) error {
	if r.pg == nil {
		return nil
	}
	r.Horizon.Tuning = r.Tuned // it is the fastest who leaves most behind
	return r.rounds(ctx, r.Slow, []*Database{r.pg}, func(d *Database) error {
		var calm map[string]float64
		for _, z := range r.Holds {
			o := r.Horizon
			if calm == nil && o.Calm > 0 {
				o.For = o.Calm
			}
			rates, err := r.steady(ctx, d, o, z)
			if err != nil {
				return fmt.Errorf("%s: %w", z.Name, err)
			}
			r.say("%s: %.0f jobs/s in slices of %s", z.Name, rates, o.Slice)
			name := fmt.Sprintf("steady for %s, tuned, %s: ", o.For, z.Name)
			all := SpreadOf(rates)
			at := map[string]float64{"median slice": all.Median, "worst slice": all.Least, "last slice": rates[len(rates)-1]}
			if calm == nil {
				calm = at
				r.report.Add(d.Name, name+"median slice", Rate, at["median slice"])
			} else {
				for _, which := range []string{"median slice", "worst slice", "last slice"} {
					r.report.Compare(d.Name, name+which+", to undisturbed", Rate, at[which], calm[which])
				}
			}
			r.report.Compare(d.Name, name+"last slice, to its first", Rate, at["last slice"], rates[0])
		}
		return nil
	})
}

// steady works in a fresh database while somebody else does what z says.
func (r *run) steady(ctx context.Context, d *Database, o Steady, z Horizon) (slices []float64, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return nil, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		return s.Hold(ctx, z, func() error { slices, err = o.Run(ctx, st); return err })
	})
	return slices, errors.Join(err, s.Close())
}
