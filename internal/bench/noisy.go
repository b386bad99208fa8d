//go:build linux

package bench

import (
	"context"
	"errors"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/rates"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/store"
)

// noisy is measure 11: the start latency of quiet tenants' jobs, with and without a tenant that has thousands of waiting jobs.
func (r *run) noisy(ctx context.Context) error {
	return r.rounds(ctx, 1, r.whole, func(d *database.Database) error {
		var alone float64
		for _, m := range []struct {
			name string
			rates.Noisy
		}{
			{"alone in a fair queue", rates.Noisy{Fair: true, Alone: true}},
			{"beside a neighbour in a fair queue", rates.Noisy{Fair: true}},
			{"beside a neighbour in a queue that is not fair", rates.Noisy{}},
		} {
			m.For = r.Offer
			s, err := d.NewSite(ctx)
			if err != nil {
				return err
			}
			err = s.With(ctx, store.Options{}, func(st *store.Store) error {
				q, err := m.Run(ctx, st)
				p95 := float64(q.P95)
				if alone == 0 {
					alone = p95
				}
				r.report.Compare(d.Name, "quiet tenants, enqueue to start p95, "+m.name, report.Time, p95, alone)
				return err
			})
			if err := errors.Join(err, s.Close()); err != nil {
				return err
			}
		}
		return nil
	})
}
