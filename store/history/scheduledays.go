package history

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// dayRow holds the totals that a minute adds to a day of a schedule.
type dayRow struct {
	Day        int64 `json:"day"` // since 1970, of the schedule's calendar
	ScheduleID int64 `json:"schedule_id"`
	OK         int64 `json:"ok"`
	Failed     int64 `json:"failed"`
	Canceled   int64 `json:"canceled"`
	Skipped    int64 `json:"skipped"`
	Ran        int64 `json:"ran"`
}

// liveLook bounds the rows of a schedule that are counted since the last roll-up.
const liveLook = 5000

// ScheduleDays returns the totals of a schedule's runs, day by day. Runs that are not rolled up yet are counted from their
// rows.
func (s *Store) ScheduleDays(ctx context.Context, q view.DaysQuery) (out view.ScheduleDays, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	if err := q.WithDefaults(now).Validate(); err != nil {
		return out, err
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.schedules.ReadSchedule(ctx, tx, base.NamespaceOr(q.Namespace), q.Schedule, false)
		if err != nil {
			return err
		}
		zone, _ := cron.LoadZone(row.Zone)
		q := q.WithDefaults(time.Unix(dayIn(zone, now.UnixMicro())*86400, 0))
		days := map[int64]*view.DayTotals{}
		if err := s.rolledDays(ctx, tx, row.ID, q, days); err != nil {
			return err
		}
		if out.Partial, err = s.liveDays(ctx, tx, row.ID, zone, days); err != nil {
			return err
		}
		out.Days = []view.DayTotals{}
		for _, n := range slices.Sorted(maps.Keys(days)) {
			d := *days[n]
			if d.Day = time.Unix(n*86400, 0).UTC(); !d.Day.Before(q.From) && !d.Day.After(q.To) {
				out.Days = append(out.Days, d)
			}
		}
		return nil
	})
	return out, err
}

func (s *Store) rolledDays(ctx context.Context, tx base.Tx, schedule int64, q view.DaysQuery, days map[int64]*view.DayTotals) error {
	var wanted []int64
	for d := q.From; !d.After(q.To); d = d.Add(base.OneDay) {
		wanted = append(wanted, d.Unix()/86400)
	}
	_, err := base.Collect(ctx, tx, func(r base.Rows) (d view.DayTotals, err error) {
		var day, ran int64
		err = r.Scan(&day, &d.OK, &d.Failed, &d.Canceled, &d.Skipped, &ran)
		d.Ran = InMicros(ran)
		days[day] = &d
		return d, err
	}, `
		select day, ok, failed, canceled, skipped, ran
		from belfry.schedule_days
		where schedule_id = $1 and `+s.SQL.In("day", 2), schedule, s.SQL.List(wanted))
	return err
}

// liveDays adds the runs that are not rolled up yet.
func (s *Store) liveDays(ctx context.Context, tx base.Tx, schedule int64, zone *time.Location, days map[int64]*view.DayTotals) (partial bool, err error) {
	m, err := s.JobMark(ctx, tx)
	if err != nil {
		return false, err
	}
	if m.after >= schedule { // the schedule's part of that minute is rolled up
		m.Minute++
	}
	type end struct {
		state              string
		at, took, num, day int64
	}
	scan := func(r base.Rows) (e end, err error) { return e, r.Scan(&e.state, &e.at, &e.took, &e.num, &e.day) }
	for _, query := range []string{
		`select state, finished_at, ` + ranSQL + `, 1, case when nominal > 0 then nominal else finished_at end from belfry.jobs_done where schedule_id = $1 and schedule_id > 0 and trigger <> 'check' order by id desc`,
		`select decision, decided_at, 0, case when decision = 'skipped' then count else 0 end, nominal from belfry.occurrences where schedule_id = $1 order by nominal desc`,
	} {
		ends, err := base.Collect(ctx, tx, scan, query+` limit `+strconv.Itoa(liveLook), schedule)
		if err != nil {
			return false, err
		}
		for _, e := range ends {
			if e.at < m.Minute*60_000_000 || e.num == 0 {
				continue
			}
			dayOf(days, dayIn(zone, e.day)).Tally(job.State(e.state), e.num, InMicros(e.took))
		}
		partial = partial || len(ends) == liveLook && ends[liveLook-1].at >= m.Minute*60_000_000
	}
	return partial, nil
}

// scheduleDay is a day of a schedule's calendar.
type scheduleDay struct{ schedule, day int64 }

func dayOf[K comparable](days map[K]*view.DayTotals, at K) *view.DayTotals {
	d := days[at]
	if d == nil {
		d = &view.DayTotals{}
		days[at] = d
	}
	return d
}

// dayIn returns the day, since 1970, of an instant in microseconds in a time zone. All instants of a quarter of an hour share
// their day, because offsets of zones are multiples of it.
func dayIn(zone *time.Location, at int64) int64 {
	if zone == nil {
		zone = time.UTC // the schedule was deleted
	}
	y, m, d := base.Instant(at).In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// zonesOf returns the time zones of schedules.
func (s *Store) zonesOf(ctx context.Context, tx base.Tx, ids []int64) (map[int64]*time.Location, error) {
	zones := map[int64]*time.Location{}
	if len(ids) == 0 {
		return zones, nil
	}
	slices.Sort(ids)
	_, err := base.Collect(ctx, tx, func(r base.Rows) (sc schedule.Schedule, err error) {
		var id int64
		if err = r.Scan(&id, base.ScanDoc(&sc)); err != nil {
			return sc, err
		}
		zones[id], _ = cron.LoadZone(sc.Zone) // a zone that this node does not know counts as UTC
		return sc, nil
	}, `select s.id, s.doc from belfry.schedules s where `+s.SQL.In("s.id", 1), s.SQL.List(slices.Compact(ids)))
	return zones, err
}
