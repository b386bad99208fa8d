//go:build linux

package bench

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// limits is measure 14: what a limit by key costs the jobs that have one.
func (r *run) limits(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.whole, func(d *database.Database) error {
		var free [2]rates.Work
		for _, m := range []struct {
			name   string
			limits []flow.Limit
		}{
			{"none", nil},
			{"10 running", []flow.Limit{{Key: "input.key", Running: 10}}}, // with three jobs of a key, none waits
			{"1 running", []flow.Limit{{Key: "input.key", Running: 1}}},
			{"1 running and a rate", []flow.Limit{{Key: "input.key", Running: 1, Rate: "1000/1s", Burst: 1000}}},
		} {
			var both [2]rates.Work
			err := r.site(ctx, d, func(s *database.Site, st *store.Store) (err error) {
				both[0], both[1], err = rates.Keys{Jobs: r.Jobs, Keys: r.Keys, Limits: m.limits}.LiveAndDie(ctx, s, st)
				return err
			})
			if err != nil {
				return err
			}
			if m.limits == nil {
				free = both
				continue
			}
			for i, what := range []string{"enqueue 1,000 in a call", "burn-down"} {
				r.report.Compare(d.Name, fmt.Sprintf("%s, limit %s, keys: %s, to none", what, m.name, report.Thousands(fmt.Sprint(r.Keys))), report.Rate, both[i].Rate(), free[i].Rate())
			}
		}
		return nil
	})
}
