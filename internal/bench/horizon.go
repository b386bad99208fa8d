//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// horizon is measure 6: steady work beside a long transaction. It concerns vacuum, so it runs on PostgreSQL alone.
func (r *run) horizon(ctx context.Context) error {
	if r.pg == nil {
		return nil
	}
	r.Horizon.Tuning = r.Tuned // the fastest worker leaves the most dead rows
	return r.rounds(ctx, r.Slow, []*database.Database{r.pg}, func(d *database.Database) error {
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
			all := report.SpreadOf(rates)
			at := map[string]float64{"median slice": all.Median, "worst slice": all.Least, "last slice": rates[len(rates)-1]}
			if calm == nil {
				calm = at
				r.report.Add(d.Name, name+"median slice", report.Rate, at["median slice"])
			} else {
				for _, which := range []string{"median slice", "worst slice", "last slice"} {
					r.report.Compare(d.Name, name+which+", to undisturbed", report.Rate, at[which], calm[which])
				}
			}
			r.report.Compare(d.Name, name+"last slice, to its first", report.Rate, at["last slice"], rates[0])
		}
		return nil
	})
}

// steady runs a steady load on a new database, beside the long transaction z.
func (r *run) steady(ctx context.Context, d *database.Database, o rates.Steady, z rates.Horizon) (slices []float64, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return nil, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		return z.Hold(ctx, s, func() error { slices, err = o.Run(ctx, st); return err })
	})
	return slices, errors.Join(err, s.Close())
}
