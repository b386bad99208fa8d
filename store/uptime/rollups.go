package uptime

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/task"
)

// rollupRow is a roll-up in a batch.
type rollupRow struct {
	MonitorID int64  `json:"monitor_id"`
	Span      int64  `json:"span"`
	At        int64  `json:"at"`
	OK        int64  `json:"ok"`
	Degraded  int64  `json:"degraded"`
	Fail      int64  `json:"fail"`
	Error     int64  `json:"error"`
	Total     int64  `json:"total"`
	Least     int64  `json:"least"`
	Most      int64  `json:"most"`
	Latency   string `json:"latency"`
}

func rollupRowOf(monitor int64, r monitor.Rollup) rollupRow {
	latency, err := r.Latency.MarshalBinary()
	if err != nil {
		panic(err) // a histogram always encodes
	}
	return rollupRow{
		monitor, int64(r.Span.D() / time.Second), base.Micros(r.From), r.OK, r.Degraded, r.Fail, r.Error,
		r.Sum.D().Microseconds(), r.Min.D().Microseconds(), r.Max.D().Microseconds(), base64.StdEncoding.EncodeToString(latency),
	}
}

const rollupColumns = `monitor_id, span, at, ok, degraded, fail, error, total, least, most, latency`

type monitorRollup struct {
	monitor int64
	monitor.Rollup
}

func scanRollup(rows base.Rows) (r monitorRollup, err error) {
	var span, total, least, most int64
	var latency string
	if err = rows.Scan(&r.monitor, &span, base.ScanTime(&r.From), &r.OK, &r.Degraded, &r.Fail, &r.Error, &total, &least, &most, &latency); err != nil {
		return r, err
	}
	us := func(n int64) core.Duration { return core.Duration(time.Duration(n) * time.Microsecond) }
	r.Span = core.Duration(time.Duration(span) * time.Second)
	r.Sum, r.Min, r.Max = us(total), us(least), us(most)
	packed, err := base64.StdEncoding.DecodeString(latency)
	if err != nil {
		return r, err
	}
	return r, r.Latency.UnmarshalBinary(packed)
}

// rolled is the progress of the roll-up of results: the begin of the next hour and of the next day to roll up. oldest is the
// time of the oldest single results.
type rolled struct{ Hour, day, oldest time.Time }

// Rolled returns up to which hour and day the results of checks are rolled up, and the hour of the oldest result.
func (s *Store) Rolled(ctx context.Context, tx base.Tx) (r rolled, err error) {
	r, _, err = base.First(ctx, tx, func(rows base.Rows) (r rolled, err error) {
		var hour, day, oldest int64
		err = rows.Scan(&hour, &day, &oldest)
		return rolled{time.Unix(hour*3600, 0).UTC(), time.Unix(day*86400, 0).UTC(), time.Unix(oldest*3600, 0).UTC()}, err
	}, `select hour, day, coalesce((select hour from belfry.results order by hour limit 1), 0) from belfry.rolled`)
	return r, err
}

// RollUp rolls up the next minute of finished jobs, and the next complete hour or day of monitor results. It reports whether
// there is more. Repetitions give the same result, so a crash in the middle or two nodes at once do no harm.
func (s *Store) RollUp(ctx context.Context) (more bool, err error) {
	jobs, err := s.history.RollJobs(ctx)
	if err != nil {
		return false, err
	}
	more, err = s.rollResults(ctx)
	return more || jobs, err
}

// rollResults rolls up the next hour or day of all monitors.
func (s *Store) rollResults(ctx context.Context) (more bool, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return false, err
	}
	var at rolled
	var begun bool
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		at, err = s.Rolled(ctx, tx)
		if begun = at.Hour.Unix() > 0; err != nil || begun {
			return err
		}
		at.Hour, at.day = at.oldest, at.oldest.Truncate(base.OneDay)
		return nil
	})
	if err != nil || at.Hour.Unix() <= 0 {
		return false, err
	}
	switch {
	case begun && at.Hour.After(now):
		return true, s.history.RollAgain(ctx)
	case !at.Hour.Before(at.day.Add(base.OneDay)): // all hours of the day are rolled up
		return true, s.rollDay(ctx, at)
	case now.Before(at.Hour.Add(time.Hour + base.RollGrace)):
		return false, nil
	}
	return true, s.rollHour(ctx, at, now.Add(-base.RollGrace).Truncate(time.Hour))
}

// rollHour rolls up one hour of all monitors. After an hour without results it skips to the next hour that has any, at the
// latest to open, the first hour that is not over. Otherwise a node that comes back after a year would step through each hour.
func (s *Store) rollHour(ctx context.Context, at rolled, open time.Time) error {
	var rows []rollupRow
	err := s.DB().Read(ctx, func(tx base.Tx) error {
		rows = nil
		res, err := tx.Query(ctx, `
			select monitor_id, outcome, latency, starved
			from belfry.results
			where hour = $1
			order by monitor_id`, base.HourOf(at.Hour))
		if err != nil {
			return err
		}
		defer res.Close()
		var id int64
		sum := monitor.Rollup{From: at.Hour, Span: core.Duration(time.Hour)}
		for res.Next() {
			var m, latency int64
			var outcome string
			var starved int
			if err := res.Scan(&m, &outcome, &latency, &starved); err != nil {
				return err
			}
			if m != id && id != 0 {
				rows = append(rows, rollupRowOf(id, sum))
				sum = monitor.Rollup{From: at.Hour, Span: core.Duration(time.Hour)}
			}
			id = m
			sum.Add(task.CheckOutcome(outcome), core.Duration(time.Duration(latency)*time.Microsecond), starved != 0)
		}
		if id != 0 {
			rows = append(rows, rollupRowOf(id, sum))
		}
		return res.Err()
	})
	if err != nil {
		return err
	}
	to := rolled{Hour: at.Hour.Add(time.Hour), day: at.day}
	if len(rows) == 0 {
		if to, err = s.pastEmpty(ctx, at, open); err != nil {
			return err
		}
	}
	return s.writeRollups(ctx, rows, to)
}

// pastEmpty returns the next hour to roll up after an hour without results. A day with rolled-up hours is completed first.
func (s *Store) pastEmpty(ctx context.Context, at rolled, open time.Time) (rolled, error) {
	next := open
	err := s.DB().Read(ctx, func(tx base.Tx) error {
		hour, found, err := base.First(ctx, tx, base.ScanInt, `select hour from belfry.results where hour > $1 order by hour limit 1`, base.HourOf(at.Hour))
		if next = open; found && hour < base.HourOf(open) {
			next = time.Unix(hour*3600, 0).UTC()
		}
		return err
	})
	switch ends := at.day.Add(base.OneDay); {
	case next.Before(ends):
		return rolled{Hour: next, day: at.day}, err
	case at.Hour.After(at.day):
		return rolled{Hour: ends, day: at.day}, err
	default:
		return rolled{Hour: next, day: next.Truncate(base.OneDay)}, err
	}
}

// rollDay sums up the hours of a day.
func (s *Store) rollDay(ctx context.Context, at rolled) error {
	var rows []rollupRow
	err := s.DB().Read(ctx, func(tx base.Tx) error {
		rows = nil
		hours, err := base.Collect(ctx, tx, scanRollup, `
			select `+rollupColumns+`
			from belfry.rollups
			where span = 3600 and at >= $1 and at < $2
			order by monitor_id, at`, base.Micros(at.day), base.Micros(at.day.Add(base.OneDay)))
		if err != nil {
			return err
		}
		for len(hours) > 0 {
			id, sum := hours[0].monitor, monitor.Rollup{From: at.day, Span: core.Duration(base.OneDay)}
			for len(hours) > 0 && hours[0].monitor == id {
				sum.Merge(&hours[0].Rollup)
				hours = hours[1:]
			}
			rows = append(rows, rollupRowOf(id, sum))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.writeRollups(ctx, rows, rolled{Hour: at.Hour, day: at.day.Add(base.OneDay)})
}

// writeRollups writes rows in parts, and the progress with the last part.
func (s *Store) writeRollups(ctx context.Context, rows []rollupRow, to rolled) error {
	for {
		part := rows[:min(len(rows), history.RollBatch)]
		rows = rows[len(part):]
		err := s.write(ctx, "roll up", func(c *Change) error {
			if err := c.writeRollups(part); err != nil || len(rows) > 0 {
				return err
			}
			// Another node may have rolled up further meanwhile.
			_, err := c.Tx.Exec(ctx, `update belfry.rolled set hour = $1, day = $2 where hour <= $1 and day <= $2`, base.HourOf(to.Hour), to.day.Unix()/86400)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
	}
}

func (c *Change) writeRollups(rows []rollupRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.rollups (`+rollupColumns+`)
		select `+rollupColumns+`
		from `+from+`
		where true
		on conflict (monitor_id, span, at) do update
		set ok = excluded.ok, degraded = excluded.degraded, fail = excluded.fail, error = excluded.error,
			total = excluded.total, least = excluded.least, most = excluded.most, latency = excluded.latency`, args...)
	return err
}

// rollupsOf reads hours or days of monitors.
func (s *Store) rollupsOf(ctx context.Context, tx base.Tx, ids []int64, span time.Duration, from, to time.Time) ([]monitorRollup, error) {
	if !from.Before(to) {
		return nil, nil
	}
	return base.Collect(ctx, tx, scanRollup, `
		select `+rollupColumns+`
		from belfry.rollups
		where `+s.SQL.In("monitor_id", 1)+` and span = $2 and at >= $3 and at < $4`,
		s.SQL.List(ids), int64(span/time.Second), base.Micros(from), base.Micros(to))
}

// rawOf rolls up single results of monitors by a step.
func (s *Store) rawOf(ctx context.Context, tx base.Tx, ids []int64, step time.Duration, from, to time.Time) (out []monitorRollup, err error) {
	if !from.Before(to) {
		return nil, nil
	}
	type seen struct {
		monitor int64
		at      time.Time
		outcome task.CheckOutcome
		latency int64
		starved int64
	}
	for some := range slices.Chunk(ids, monitors.HoursAtOnce) {
		// One statement reads so many hours of single monitors.
		span := monitors.HoursAtOnce / int64(len(some))
		for hour := base.HourOf(from); hour <= base.HourOf(to); hour += span {
			rows, err := base.Collect(ctx, tx, func(r base.Rows) (v seen, err error) {
				return v, r.Scan(&v.monitor, base.ScanTime(&v.at), (*string)(&v.outcome), &v.latency, &v.starved)
			}, `
				select monitor_id, at, outcome, latency, starved
				from belfry.results
				where `+s.SQL.In("hour", 1)+` and `+s.SQL.In("monitor_id", 2)+` and at >= $3 and at < $4
				limit `+strconv.Itoa(rawLimit), s.SQL.List(monitors.HoursFrom(hour, min(hour+span-1, base.HourOf(to)))), s.SQL.List(some), base.Micros(from), base.Micros(to))
			if err != nil {
				return nil, err
			}
			slices.SortFunc(rows, func(a, b seen) int { return cmp.Or(cmp.Compare(a.monitor, b.monitor), a.at.Compare(b.at)) })
			for _, r := range rows {
				at := r.at.Truncate(step)
				if n := len(out); n == 0 || out[n-1].monitor != r.monitor || !out[n-1].From.Equal(at) {
					out = append(out, monitorRollup{r.monitor, monitor.Rollup{From: at, Span: core.Duration(step)}})
				}
				out[len(out)-1].Add(r.outcome, history.InMicros(r.latency), r.starved != 0)
			}
		}
	}
	return out, nil
}

// rawLimit bounds the results of one read: a day of checks every second, and a margin.
const rawLimit = 100_000
