package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// rollGrace is how long after its end an hour is rolled up. A check that ended
// later than that stays out of it: none may run that long.
const rollGrace = 20 * time.Minute

// rollBatch bounds the rows that one transaction writes.
const rollBatch = 1000

// rollupRow is a roll-up as a batch carries it.
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
		monitor, int64(r.Span.D() / time.Second), micros(r.From), r.OK, r.Degraded, r.Fail, r.Error,
		r.Sum.D().Microseconds(), r.Min.D().Microseconds(), r.Max.D().Microseconds(), base64.StdEncoding.EncodeToString(latency),
	}
}

const rollupColumns = `monitor_id, span, at, ok, degraded, fail, error, total, least, most, latency`

type monitorRollup struct {
	monitor int64
	monitor.Rollup
}

func scanRollup(rows Rows) (r monitorRollup, err error) {
	var span, total, least, most int64
	var latency string
	if err = rows.Scan(&r.monitor, &span, scanTime(&r.From), &r.OK, &r.Degraded, &r.Fail, &r.Error, &total, &least, &most, &latency); err != nil {
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

// rolled is how far results were rolled up: the begin of the next hour, and of
// the next day, to be. There are single results from oldest on.
type rolled struct{ hour, day, oldest time.Time }

func (s *Store) rolled(ctx context.Context, tx Tx) (r rolled, err error) {
	r, _, err = first(ctx, tx, func(rows Rows) (r rolled, err error) {
		var hour, day, oldest int64
		err = rows.Scan(&hour, &day, &oldest)
		return rolled{time.Unix(hour*3600, 0).UTC(), time.Unix(day*86400, 0).UTC(), time.Unix(oldest*3600, 0).UTC()}, err
	}, `select hour, day, coalesce((select hour from belfry.results order by hour limit 1), 0) from belfry.rolled`)
	return r, err
}

// RollUp rolls up the next minute of finished jobs and the next hour or day of
// monitors' results that are over, and reports whether there is more. However
// often it runs it comes to the same, so that a crash in its middle, or two
// nodes at once, do no harm.
func (s *Store) RollUp(ctx context.Context) (more bool, err error) {
	jobs, err := s.rollJobs(ctx)
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
	err = s.db.Read(ctx, func(tx Tx) (err error) {
		at, err = s.rolled(ctx, tx)
		if begun = at.hour.Unix() > 0; err != nil || begun {
			return err
		}
		at.hour, at.day = at.oldest, at.oldest.Truncate(oneDay)
		return nil
	})
	if err != nil || at.hour.Unix() <= 0 {
		return false, err
	}
	switch {
	case begun && at.hour.After(now):
		return true, s.rollAgain(ctx)
	case !at.hour.Before(at.day.Add(oneDay)): // the day's hours are all there
		return true, s.rollDay(ctx, at)
	case now.Before(at.hour.Add(time.Hour + rollGrace)):
		return false, nil
	}
	return true, s.rollHour(ctx, at)
}

// rollAgain sets marks back that lie ahead: they were moved while the clock was,
// and until it has passed them nothing would be rolled up. Hours come to the same
// however often that is. For the days of schedules, what has ended while the
// clock was ahead counts twice.
func (s *Store) rollAgain(ctx context.Context) error {
	return s.write(ctx, "roll up again", func(c *change) error {
		hour := c.now.Add(-time.Hour - rollGrace).Truncate(time.Hour)
		if _, err := c.tx.Exec(ctx, `update belfry.rolled set hour = $1, day = $2 where hour > $3`, hourOf(hour), hour.Unix()/86400, hourOf(c.now)); err != nil {
			return err
		}
		_, err := c.tx.Exec(ctx, `update belfry.rolled_jobs set minute = $1, after = 0 where minute > $2`, minuteOf(c.now.Add(-jobGrace)), minuteOf(c.now))
		return err
	})
}

// rollHour rolls up one hour of all monitors.
func (s *Store) rollHour(ctx context.Context, at rolled) error {
	var rows []rollupRow
	err := s.db.Read(ctx, func(tx Tx) error {
		rows = nil
		res, err := tx.Query(ctx, `
			select monitor_id, outcome, latency, starved
			from belfry.results
			where hour = $1
			order by monitor_id`, hourOf(at.hour))
		if err != nil {
			return err
		}
		defer res.Close()
		var id int64
		sum := monitor.Rollup{From: at.hour, Span: core.Duration(time.Hour)}
		for res.Next() {
			var m, latency int64
			var outcome string
			var starved int
			if err := res.Scan(&m, &outcome, &latency, &starved); err != nil {
				return err
			}
			if m != id && id != 0 {
				rows = append(rows, rollupRowOf(id, sum))
				sum = monitor.Rollup{From: at.hour, Span: core.Duration(time.Hour)}
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
	return s.writeRollups(ctx, rows, at, rolled{hour: at.hour.Add(time.Hour), day: at.day})
}

// rollDay puts the hours of a day together.
func (s *Store) rollDay(ctx context.Context, at rolled) error {
	var rows []rollupRow
	err := s.db.Read(ctx, func(tx Tx) error {
		rows = nil
		hours, err := collect(ctx, tx, scanRollup, `
			select `+rollupColumns+`
			from belfry.rollups
			where span = 3600 and at >= $1 and at < $2
			order by monitor_id, at`, micros(at.day), micros(at.day.Add(oneDay)))
		if err != nil {
			return err
		}
		for len(hours) > 0 {
			id, sum := hours[0].monitor, monitor.Rollup{From: at.day, Span: core.Duration(oneDay)}
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
	return s.writeRollups(ctx, rows, at, rolled{hour: at.hour, day: at.day.Add(oneDay)})
}

// writeRollups writes rows in parts, and with the last of them how far it got.
func (s *Store) writeRollups(ctx context.Context, rows []rollupRow, from, to rolled) error {
	for {
		part := rows[:min(len(rows), rollBatch)]
		rows = rows[len(part):]
		err := s.write(ctx, "roll up", func(c *change) error {
			if err := c.writeRollups(part); err != nil || len(rows) > 0 {
				return err
			}
			// Another node may have been here meanwhile, and gone further.
			_, err := c.tx.Exec(ctx, `update belfry.rolled set hour = $1, day = $2 where hour <= $1 and day <= $2`, hourOf(to.hour), to.day.Unix()/86400)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
	}
}

func (c *change) writeRollups(rows []rollupRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.sql.Table(1, "t", BatchOf(rows))
	_, err := c.tx.Exec(c.ctx, `
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
func (s *Store) rollupsOf(ctx context.Context, tx Tx, monitors []int64, span time.Duration, from, to time.Time) ([]monitorRollup, error) {
	if !from.Before(to) {
		return nil, nil
	}
	return collect(ctx, tx, scanRollup, `
		select `+rollupColumns+`
		from belfry.rollups
		where `+s.sql.In("monitor_id", 1)+` and span = $2 and at >= $3 and at < $4`,
		s.sql.List(monitors), int64(span/time.Second), micros(from), micros(to))
}

// rawOf rolls up single results of monitors by a step.
func (s *Store) rawOf(ctx context.Context, tx Tx, monitors []int64, step time.Duration, from, to time.Time) (out []monitorRollup, err error) {
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
	for some := range slices.Chunk(monitors, hoursAtOnce) {
		// One statement looks at so many hours of single monitors.
		span := hoursAtOnce / int64(len(some))
		for hour := hourOf(from); hour <= hourOf(to); hour += span {
			rows, err := collect(ctx, tx, func(r Rows) (v seen, err error) {
				return v, r.Scan(&v.monitor, scanTime(&v.at), (*string)(&v.outcome), &v.latency, &v.starved)
			}, `
				select monitor_id, at, outcome, latency, starved
				from belfry.results
				where `+s.sql.In("hour", 1)+` and `+s.sql.In("monitor_id", 2)+` and at >= $3 and at < $4
				limit `+strconv.Itoa(rawLimit), s.sql.List(hoursFrom(hour, min(hour+span-1, hourOf(to)))), s.sql.List(some), micros(from), micros(to))
			if err != nil {
				return nil, err
			}
			slices.SortFunc(rows, func(a, b seen) int { return cmp.Or(cmp.Compare(a.monitor, b.monitor), a.at.Compare(b.at)) })
			for _, r := range rows {
				at := r.at.Truncate(step)
				if n := len(out); n == 0 || out[n-1].monitor != r.monitor || !out[n-1].From.Equal(at) {
					out = append(out, monitorRollup{r.monitor, monitor.Rollup{From: at, Span: core.Duration(step)}})
				}
				out[len(out)-1].Add(r.outcome, inMicros(r.latency), r.starved != 0)
			}
		}
	}
	return out, nil
}

// rawLimit bounds the results that are read at once: a day of checks every
// second, and a little.
const rawLimit = 100_000
