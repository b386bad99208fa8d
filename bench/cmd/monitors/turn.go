//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/bench/target"
)

// contender is one line of the table.
type contender struct {
	name, needs string
	monitors    int
	every       time.Duration
	start       func(ctx context.Context) (*running, error)
	figures     []figures
}

// running is a contender at work.
type running struct {
	*process.Process
	// lags returns the lags of starts since an instant, from the program's own record; nil if the program has none.
	lags func(ctx context.Context, from time.Time) ([]time.Duration, error)
	stop func() error
}

// figures has the results of one turn.
type figures struct {
	perCheck time.Duration // CPU
	rate     float64       // checks per second, counted by the target
	memory   float64
	lag      report.Quantiles
	uneven   report.Quantiles
}

func (c *contender) last() string {
	if len(c.figures) == 0 {
		return c.name + ": not measured"
	}
	f := c.figures[len(c.figures)-1]
	return fmt.Sprintf("%s: %s of CPU per check, %.1f checks/s, lag %s %s, uneven %s %s, %.0f MiB", c.name, f.perCheck, f.rate,
		f.lag.P50, f.lag.P99, f.uneven.P50, f.uneven.P99, f.memory/(1<<20))
}

// turn lets one contender run until each of its monitors was checked, and then measures it.
func (f *field) turn(ctx context.Context, c *contender) (err error) {
	if f.programs[c.needs] == "" {
		return nil
	}
	if _, err := f.target.Seen(ctx); err != nil { // drops the requests of the peer before
		return err
	}
	r, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := f.everyone(ctx, c, r); err != nil {
		return r.Trouble(err)
	}
	wait(ctx, f.warm)
	if _, err := f.target.Seen(ctx); err != nil {
		return err
	}
	from := time.Now()
	before, err := r.CPU()
	if err != nil {
		return err
	}
	wait(ctx, max(f.settings.turn, c.every))
	after, err := r.CPU()
	if err != nil {
		return err
	}
	took := time.Since(from)
	memory, err := r.Memory()
	if err != nil {
		return err
	}
	seen, err := f.target.Seen(ctx)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if len(seen) == 0 {
		return r.Trouble(errors.New("it checked nothing"))
	}
	got := figures{
		perCheck: (after - before) / time.Duration(len(seen)), rate: float64(len(seen)) / took.Seconds(), memory: float64(memory),
		uneven: report.QuantilesOf(target.Uneven(seen, c.every)),
	}
	if r.lags != nil {
		lags, err := r.lags(ctx, from)
		if err != nil {
			return err
		}
		got.lag = report.QuantilesOf(lags)
	}
	c.figures = append(c.figures, got)
	return nil
}

// everyone waits until the target has had a request of every monitor.
func (f *field) everyone(ctx context.Context, c *contender, r *running) error {
	ctx, cancel := context.WithTimeout(ctx, 2*c.every+time.Duration(c.monitors)*time.Second+time.Minute)
	defer cancel()
	known := map[int64]bool{}
	for len(known) < c.monitors {
		seen, err := f.target.Seen(ctx)
		if err != nil {
			return err
		}
		for _, a := range seen {
			known[a.Monitor] = true
		}
		select {
		case <-r.Done:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d monitors were checked: %w", len(known), c.monitors, ctx.Err())
		case <-time.After(time.Second):
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
