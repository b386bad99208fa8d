//go:build linux

package bench

import (
	"context"
	"fmt"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/programs"
	"github.com/belfry-run/belfry/internal/bench/recovery"
	"github.com/belfry-run/belfry/internal/bench/report"
)

// programs is measure 10: uploaded programs. It starts many processes, and runs only on request.
func (r *run) programs(ctx context.Context) error {
	return r.rounds(ctx, r.Slow, r.whole, func(d *database.Database) error {
		for _, n := range r.Programs.Workers {
			got, err := programs.Run(ctx, d, r.Program, n, r.Programs)
			if err != nil {
				return fmt.Errorf("%d workers: %w", n, err)
			}
			name := fmt.Sprintf("programs, %d workers: ", n)
			r.quantiles(d.Name, name+"due to start", got.Start)
			r.report.Add(d.Name, name+"kill -9 of the worker to the second attempt", report.Time, float64(got.Again))
		}
		return nil
	})
}

// recovery is measure 5: the time until the jobs of a killed node run again.
func (r *run) recovery(ctx context.Context) error {
	return r.rounds(ctx, r.Slow, r.whole, func(d *database.Database) error {
		for _, ttl := range r.TTLs {
			got, err := recovery.Run(ctx, d, r.Program, r.Running, ttl)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("kill -9 with %s jobs, session of %s: ", report.Thousands(fmt.Sprint(r.Running)), ttl)
			r.report.Add(d.Name, name+"first again, beyond the session", report.Time, float64(got.First-ttl))
			r.report.Add(d.Name, name+"last again, beyond the session", report.Time, float64(got.Last-ttl))
			r.report.Add(d.Name, name+"first to last", report.Time, float64(got.Last-got.First))
		}
		return nil
	})
}
