//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/report"
)

// monitors is measure 8: the cost of many monitors.
func (r *run) monitors(ctx context.Context) error {
	return r.rounds(ctx, r.Slow, r.whole, func(d *database.Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		w, err := r.Watch.Run(ctx, s, r.Program)
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		name := fmt.Sprintf("%s monitors every %s: ", report.Thousands(fmt.Sprint(r.Watch.Monitors)), r.Watch.Every)
		alone := float64(w.Alone) * float64(w.Checks) / float64(r.Watch.For)
		r.report.Add(d.Name, name+"node's CPU, of a core", report.Percent, w.Node)
		r.report.Add(d.Name, name+"of it the requests alone", report.Percent, alone)
		if d.Postgres() {
			r.report.Add(d.Name, name+"server's CPU, of a core", report.Percent, w.Server)
		}
		r.report.Add(d.Name, name+"node's CPU per check", report.Time, float64(w.PerCheck(r.Watch.For)))
		r.report.Add(d.Name, name+"of it the request alone", report.Time, float64(w.Alone))
		r.report.Add(d.Name, name+"node's memory", report.Bytes, w.Memory)
		r.quantiles(d.Name, name+"time of a check to its start", w.Late)
		r.quantiles(d.Name, name+"distance of two requests, off by", w.Uneven)
		r.report.Add(d.Name, name+"requests in the emptiest second", report.Plain, float64(w.Least))
		r.report.Add(d.Name, name+"requests in the fullest second", report.Plain, float64(w.Most))
		r.report.Add(d.Name, name+"checks that were left out, doubled or not good", report.Plain, float64(w.Astray))
		name = fmt.Sprintf("the same after %s without a node: ", r.Watch.Away)
		r.report.Add(d.Name, name+"monitors checked once for what they missed", report.Plain, float64(w.Return.CaughtUp))
		r.report.Add(d.Name, name+"never, or more than once", report.Plain, float64(w.Return.Others))
		r.report.Add(d.Name, name+"requests in the fullest second", report.Plain, float64(w.Return.Most))
		r.report.Add(d.Name, name+"half checked after", report.Time, float64(w.Return.After.P50))
		r.report.Add(d.Name, name+"all checked after", report.Time, float64(w.Return.After.Max))
		r.report.Add(d.Name, name+"what was made up for, p50 to its start", report.Time, float64(w.Return.Waited.P50))
		r.report.Add(d.Name, name+"its latency, p50", report.Time, float64(w.Return.Latency.P50))
		r.report.Add(d.Name, name+"what came due since, p99 to its start", report.Time, float64(w.Return.Late.P99))
		return nil
	})
}
