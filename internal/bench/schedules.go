//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/bench/schedules"
	"github.com/belfry-run/belfry/store"
)

// firing is measure 4: the delay of due schedules. The idle schedules are saved once.
func (r *run) firing(ctx context.Context) (err error) {
	sites := map[*database.Database]*database.Site{}
	defer func() {
		for _, s := range sites {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, d := range r.whole {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		sites[d] = s
		if err := s.With(ctx, store.Options{}, func(st *store.Store) error { return schedules.Idle(ctx, s, st, r.Idle) }); err != nil {
			return err
		}
		if err := s.Calm(ctx); err != nil {
			return err
		}
	}
	return r.rounds(ctx, r.Slow, r.whole, func(d *database.Database) error {
		f, err := r.Firing.Run(ctx, sites[d])
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s due each second: ", report.Thousands(fmt.Sprint(r.Firing.PerSecond)))
		r.quantiles(d.Name, name+"nominal time to made", f.Made)
		r.quantiles(d.Name, name+"nominal time to start", f.Began)
		r.report.Add(d.Name, name+"node's CPU, of a core", report.Percent, f.Node)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", report.Percent, f.Server)
		}
		name = fmt.Sprintf("%s due at once: ", report.Thousands(fmt.Sprint(r.Firing.Burst)))
		r.report.Add(d.Name, name+"last one made", report.Time, float64(f.BurstMade.Max))
		r.report.Add(d.Name, name+"half started", report.Time, float64(f.BurstBegan.P50))
		r.report.Add(d.Name, name+"last one started", report.Time, float64(f.BurstBegan.Max))
		return nil
	})
}

// idle is measure 3: the cost of idle schedules. It is not repeated.
func (r *run) idle(ctx context.Context) error {
	for _, d := range r.whole {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		w, err := schedules.Weigh(ctx, s, r.Program, r.Idle, r.Rest)
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		name := report.Thousands(fmt.Sprint(w.Schedules)) + " idle schedules: "
		r.report.Add(d.Name, name+"on disk, each", report.Bytes, w.Disk)
		r.report.Add(d.Name, name+"node's memory, each", report.Bytes, max(w.RSS, 0))
		r.report.Compare(d.Name, name+"node's memory, to none", report.Bytes, w.Node, w.Base)
		r.report.Add(d.Name, name+"node's CPU, of a core", report.Percent, w.CPU)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", report.Percent, w.Server)
		}
		r.say("%s: %s idle schedules saved in %s", d.Name, report.Thousands(fmt.Sprint(w.Schedules)), w.Saved.Round(time.Second))
	}
	return nil
}
