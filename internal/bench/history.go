//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// history is measure 7: the same with and without finished jobs, in turns.
func (r *run) history(ctx context.Context) (err error) {
	var sites []*database.Site
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	pair := map[*database.Database][]*database.Site{}
	for _, d := range r.whole {
		for range 2 {
			s, err := d.NewSite(ctx)
			if err != nil {
				return err
			}
			sites, pair[d] = append(sites, s), append(pair[d], s)
		}
		begun := time.Now()
		if err := rates.Fill(ctx, pair[d][1], r.Past, r.Days); err != nil {
			return err
		}
		if err := rates.Fill(ctx, pair[d][0], 0, 1); err != nil { // the samples alone
			return err
		}
		r.say("%s: history of %s jobs in %s", d.Name, report.Thousands(fmt.Sprint(r.Past)), time.Since(begun).Round(time.Second))
	}
	round := 0
	return r.rounds(ctx, r.Slow, r.whole, func(d *database.Database) error {
		round++
		var both [2]figures
		for k := range 2 {
			side := (k + round/len(r.whole)) % 2
			if both[side], err = r.figures(ctx, pair[d][side]); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("beside %s finished jobs, to none: ", report.Thousands(fmt.Sprint(r.Past)))
		for i, f := range both[1] {
			r.report.Compare(d.Name, name+f.name, f.unit, f.value, both[0][i].value)
		}
		return nil
	})
}

type figures []struct {
	name  string
	unit  report.Unit
	value float64
}

// figures has the measures that a history might slow down.
func (r *run) figures(ctx context.Context, s *database.Site) (out figures, err error) {
	add := func(name string, unit report.Unit, value float64) {
		out = append(out, struct {
			name  string
			unit  report.Unit
			value float64
		}{name, unit, value})
	}
	err = s.With(ctx, store.Options{Keep: database.KeepAll}, func(st *store.Store) error {
		singly, err := rates.EnqueueSingly(ctx, s, st, 1, r.Singly)
		if err != nil {
			return err
		}
		if _, err := rates.Burn(ctx, s, st, singly.Jobs+1, r.Tuned); err != nil {
			return err
		}
		in, err := rates.EnqueueBulk(ctx, s, st, r.Now)
		if err != nil {
			return err
		}
		burn, err := rates.Burn(ctx, s, st, r.Now, node.Tuning{})
		if err != nil {
			return err
		}
		if _, err = rates.EnqueueBulk(ctx, s, st, r.Now); err != nil {
			return err
		}
		tuned, err := rates.Burn(ctx, s, st, r.Now, r.Tuned)
		if err != nil {
			return err
		}
		q, err := rates.Latency(ctx, st, st, r.Probes, 0, node.Tuning{})
		add("enqueue one by one", report.Rate, singly.Rate())
		add("enqueue 1,000 in a call", report.Rate, in.Rate())
		add("burn-down, default", report.Rate, burn.Rate())
		add("burn-down, tuned", report.Rate, tuned.Rate())
		add("burn-down, tuned, CPU per job", report.Time, tuned.Per(float64(tuned.CPU())))
		add("enqueue to start, idle, p50", report.Time, float64(q.P50))
		add("enqueue to start, idle, p99", report.Time, float64(q.P99))
		return err
	})
	if err != nil {
		return out, err
	}
	f := r.Firing
	f.Seconds, f.Burst, f.Lead = max(f.Seconds/2, 3), 0, f.Lead/2
	fired, err := f.Run(ctx, s)
	add("due to start, p50", report.Time, float64(fired.Began.P50))
	add("due to start, p99", report.Time, float64(fired.Began.P99))
	return out, err
}
