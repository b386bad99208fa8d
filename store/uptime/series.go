package uptime

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/view"
)

// steps are the possible lengths of a point of a series.
var steps = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, base.OneDay, 7 * base.OneDay}

// Limits of a series.
const (
	wantedPoints = 200
	maxPoints    = 2000
)

// Series returns the results of a monitor over time, summed by steps. Beyond the retention of single results they come by the
// hour, and before that by the day.
func (s *Store) Series(ctx context.Context, q view.SeriesQuery) (points monitor.Series, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-base.OneDay)
	}
	step, err := stepOf(q)
	if err != nil {
		return nil, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		points = monitor.Series{}
		row, err := s.monitors.ReadMonitor(ctx, tx, base.NamespaceOr(q.Namespace), q.Monitor, false)
		if err != nil {
			return err
		}
		of, err := s.rollupsBetween(ctx, tx, []int64{row.ID}, step, q.From.Truncate(step), q.To, now)
		if err != nil {
			return err
		}
		parts := of[row.ID]
		var sum monitor.Rollup
		for i, part := range parts {
			at := part.From.Truncate(step)
			if i == 0 || !sum.From.Equal(at) {
				if i > 0 {
					points = append(points, sum.Point())
				}
				sum = monitor.Rollup{From: at, Span: core.Duration(max(step, part.Span.D()))}
			}
			sum.Merge(&part)
		}
		if len(parts) > 0 {
			points = append(points, sum.Point())
		}
		return nil
	})
	return points, err
}

func stepOf(q view.SeriesQuery) (time.Duration, error) {
	span := q.To.Sub(q.From)
	if span <= 0 {
		return 0, core.InvalidField("from", q.From.Format(time.RFC3339), "is not before to", "")
	}
	if q.Step != 0 {
		if q.Step.D() < time.Minute || span/q.Step.D() > maxPoints {
			return 0, core.InvalidField("step", q.Step.String(), "is under 1m or would make more than 2000 points", "leave it out, or ask for less at once")
		}
		return q.Step.D(), nil
	}
	for _, step := range steps {
		if span/step <= wantedPoints {
			return step, nil
		}
	}
	return span / wantedPoints, nil
}

// rollupsBetween combines days, hours and single results. For each part of the time it uses the coarsest that exists and fits
// the step. It returns the roll-ups of each monitor by its id, oldest first.
func (s *Store) rollupsBetween(ctx context.Context, tx base.Tx, ids []int64, step time.Duration, from, to, now time.Time) (map[int64][]monitor.Rollup, error) {
	at, err := s.Rolled(ctx, tx)
	if err != nil {
		return nil, err
	}
	clip := func(t time.Time) time.Time {
		if t.Before(from) {
			return from
		}
		if t.After(to) {
			return to
		}
		return t
	}
	// [from, days) by the day, [days, hours) by the hour, [hours, to) from single results.
	days, hours := clip(now.Add(-base.KeepHours)), clip(now.Add(-s.Opt.Keep.Results))
	if step >= time.Hour {
		hours = clip(at.Hour)
	}
	if step >= base.OneDay {
		days = clip(at.day)
	}
	if days.After(hours) {
		days = hours
	}
	all, err := s.rollupsOf(ctx, tx, ids, base.OneDay, from, days)
	if err != nil {
		return nil, err
	}
	byHour, err := s.rollupsOf(ctx, tx, ids, time.Hour, days, hours)
	if err != nil {
		return nil, err
	}
	raw, err := s.rawOf(ctx, tx, ids, min(step, time.Hour), base.LaterOf(hours, at.oldest), to)
	if err != nil {
		return nil, err
	}
	of := make(map[int64][]monitor.Rollup, len(ids))
	for _, r := range slices.Concat(all, byHour, raw) {
		of[r.monitor] = append(of[r.monitor], r.Rollup)
	}
	for _, parts := range of {
		slices.SortStableFunc(parts, func(a, b monitor.Rollup) int { return a.From.Compare(b.From) })
	}
	return of, nil
}

// summed combines roll-ups into one point.
func summed(parts []monitor.Rollup) monitor.SeriesPoint {
	var sum monitor.Rollup
	for i := range parts {
		sum.Merge(&parts[i])
	}
	return sum.Point()
}

// reported are the spans of an uptime report, counted as bars and status pages count theirs.
var reported = []struct {
	name string
	from func(now time.Time) time.Time
	step time.Duration // step by which latencies are summed
}{
	{"24h", monitor.BarsDay.From, time.Hour}, {"7d", daysFrom(7), time.Hour}, {"30d", daysFrom(30), base.OneDay},
	{"90d", monitor.BarsQuarter.From, base.OneDay}, {"1y", daysFrom(365), base.OneDay},
}

// daysFrom returns where a span of n days begins: days are those of UTC, and today is the last.
func daysFrom(n int) func(now time.Time) time.Time {
	return func(now time.Time) time.Time {
		return now.UTC().Truncate(base.OneDay).Add(-time.Duration(n-1) * base.OneDay)
	}
}

// Uptime returns the part of several spans in which a target was up, from the time between the entries of its timeline.
func (s *Store) Uptime(ctx context.Context, namespace, monitor string) (out view.UptimeReport, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.monitors.ReadMonitor(ctx, tx, base.NamespaceOr(namespace), monitor, false)
		if err != nil {
			return err
		}
		out, err = s.uptime(ctx, tx, row, now)
		return err
	})
	return out, err
}

func (s *Store) uptime(ctx context.Context, tx base.Tx, row monitors.MonitorRow, now time.Time) (out view.UptimeReport, err error) {
	out = view.UptimeReport{Monitor: row.Name}
	spans, err := s.monitors.SpansOf(ctx, tx, row.ID, reported[len(reported)-1].from(now))
	if err != nil {
		return out, err
	}
	for _, r := range reported {
		from := r.from(now)
		w := view.UptimeWindow{Name: r.name, Uptime: monitor.UptimeOf(spans, from, now, row.ObservedUntil(row.State))}
		of, err := s.rollupsBetween(ctx, tx, []int64{row.ID}, r.step, from.Truncate(r.step), now, now)
		if err != nil {
			return out, err
		}
		point := summed(of[row.ID])
		w.P50, w.P95, w.P99 = point.P50, point.P95, point.P99
		out.Spans = append(out.Spans, w)
	}
	return out, nil
}

// Bars returns the recent state of targets. It reads a short range for each target, in a few statements for all of them.
func (s *Store) Bars(ctx context.Context, q monitor.BarsQuery) (all []monitor.Bars, err error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	all = []monitor.Bars{}
	from, step := q.Span.From(now), max(q.Span.Step(), time.Hour)
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		rows, err := base.Collect(ctx, tx, s.monitors.ScanMonitor, `
			select `+monitors.MonitorColumns+`
			from belfry.monitors m
			where m.namespace = $1 and `+s.SQL.In("m.name", 2)+`
			order by m.name`, base.NamespaceOr(q.Namespace), s.SQL.List(q.Monitors))
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]int64, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		of, err := s.rollupsBetween(ctx, tx, ids, step, from.Truncate(step), now, now)
		if err != nil {
			return err
		}
		for _, row := range rows {
			spans, err := s.monitors.SpansOf(ctx, tx, row.ID, from)
			if err != nil {
				return err
			}
			b := monitor.BarsOf(spans, q.Span, now, row.ObservedUntil(row.State))
			point := summed(of[row.ID])
			b.Monitor, b.P50, b.P95, b.P99 = row.Name, point.P50, point.P95, point.P99
			measured, err := s.lastChecks(ctx, tx, row, of[row.ID], now)
			if err != nil {
				return err
			}
			b.Latencies = latenciesOf(measured, step)
			all = append(all, b)
		}
		return nil
	})
	return all, err
}

// lastChecks returns the last single checks of a monitor if all its results are within one hour, and its parts otherwise.
func (s *Store) lastChecks(ctx context.Context, tx base.Tx, row monitors.MonitorRow, parts []monitor.Rollup, now time.Time) ([]monitor.Rollup, error) {
	if len(parts) != 1 || parts[0].Span.D() > time.Hour {
		return parts, nil
	}
	from := base.LaterOf(parts[0].From, now.Add(-(lastLatencies+1)*row.Every.D()))
	raw, err := s.rawOf(ctx, tx, []int64{row.ID}, time.Microsecond, from, now)
	if err != nil || len(raw) == 0 {
		return parts, err
	}
	parts = nil
	for _, r := range raw {
		parts = append(parts, r.Rollup)
	}
	return parts, nil
}

// Timeline returns the states of a target from an instant on.
func (s *Store) Timeline(ctx context.Context, namespace, monitor string, from time.Time) (spans []monitor.Span, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.monitors.ReadMonitor(ctx, tx, base.NamespaceOr(namespace), monitor, false)
		if err != nil {
			return err
		}
		spans, err = s.monitors.SpansOf(ctx, tx, row.ID, from)
		return err
	})
	return spans, err
}
