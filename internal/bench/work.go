//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// bound compares Belfry with the bounds.
func (r *run) bound(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.all, func(d *database.Database) error {
		l, err := rates.LiveAndDie(ctx, d, r.Jobs, node.Tuning{})
		if err != nil {
			return err
		}
		r.costs(d.Name, "burn-down beside the bound", l.Burn)
		for _, b := range rates.Bounds {
			if !d.Postgres() && !b.Whole {
				continue
			}
			w, err := b.Run(ctx, d, r.Jobs)
			if err != nil {
				return fmt.Errorf("%s: %w", b.Name, err)
			}
			r.costs(d.Name, "bare statements, "+b.Name, w)
			r.report.Compare(d.Name, "burn-down, to bare statements, "+b.Name, report.Rate, l.Burn.Rate(), w.Rate())
			r.report.Compare(d.Name, "CPU per job, all, to bare statements, "+b.Name, report.Time, l.Burn.Per(float64(l.Burn.CPU())), w.Per(float64(w.CPU())))
		}
		return nil
	})
}

// latency is measure 2: the start latency of jobs.
func (r *run) latency(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.whole, func(d *database.Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		var full float64 // jobs per second, in and out
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			q, err := rates.Latency(ctx, st, st, r.Probes, 0, node.Tuning{})
			if err != nil {
				return err
			}
			r.quantiles(d.Name, "enqueue to start, idle", q)
			if d.Postgres() {
				err := node.Beside(ctx, s, func(other *store.Store) error {
					q, err := rates.Latency(ctx, st, other, r.Probes, 0, node.Tuning{})
					r.quantiles(d.Name, "enqueue to start on another node, idle", q)
					return err
				})
				if err != nil {
					return err
				}
			}
			slices, err := rates.Steady{For: r.Offer, Slice: r.Offer, Backlog: 5000}.Run(ctx, st)
			if err != nil {
				return err
			}
			full = slices[0]
			r.report.Add(d.Name, "enqueue and run at once, as fast as can be", report.Rate, full)
			return nil
		})
		if err != nil {
			return err
		}
		half, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		err = half.With(ctx, store.Options{}, func(st *store.Store) error {
			q, err := rates.Latency(ctx, st, st, r.Probes, full/2, node.Tuning{})
			if err == nil {
				r.quantiles(d.Name, "enqueue to start, at half of that rate", q)
			}
			return err
		})
		if err := errors.Join(err, half.Close()); err != nil {
			return err
		}
		rate, err := rates.Sustained(ctx, d, 1.5*full, r.Offer, r.Steps, node.Tuning{})
		r.report.Add(d.Name, "sustained with p99 under 100 ms", report.Rate, rate)
		return err
	})
}

// work is measure 1: the rates and costs of jobs.
func (r *run) work(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.all, func(d *database.Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			for _, callers := range []int{1, 32} {
				w, err := rates.EnqueueSingly(ctx, s, st, callers, r.Singly)
				if err != nil {
					return err
				}
				r.costs(d.Name, fmt.Sprintf("enqueue one by one, callers: %d", callers), w)
			}
			return nil
		})
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		for _, t := range []struct {
			name string
			node.Tuning
		}{{"default", node.Tuning{}}, {"tuned", r.Tuned}} {
			l, err := rates.LiveAndDie(ctx, d, r.Jobs, t.Tuning)
			if err != nil {
				return err
			}
			if t.name == "default" {
				r.costs(d.Name, "enqueue 1,000 in a call", l.Bulk)
			}
			burn := fmt.Sprintf("burn-down of %s jobs, %s", report.Thousands(fmt.Sprint(r.Jobs)), t.name)
			r.costs(d.Name, burn, l.Burn)
			r.report.Add(d.Name, "a life in bulk, "+t.name+": CPU per job, all", report.Time, l.Burn.Per(float64(l.Burn.CPU()+l.Bulk.CPU())))
			if d.Postgres() {
				r.report.Add(d.Name, "a life in bulk, "+t.name+": dead tuples per job", report.Plain, l.Dead)
			}
			r.report.Add(d.Name, "a life in bulk, "+t.name+": kept on disk per job", report.Bytes, l.Kept)
		}
		return nil
	})
}
