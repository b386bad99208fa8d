package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// Finished jobs are rolled up minute by minute, twice: as soon as a minute is
// over, so that rates are fresh, and once more when what ended in it has been
// committed, which is when it counts for the days of schedules too.
//
// The rows of a minute replace each other. Those of days are added to, so they
// go together with the mark, which moves from schedule to schedule of a minute:
// whoever finds that it has moved, wrote nothing. Nothing here is done by those
// who claim and finish.
const (
	// jobGrace is how long after its end a minute is final. What is committed
	// later than that, by a transaction that was open for so long, is in no day.
	jobGrace = 2 * time.Minute

	KeepMinutes = 48 * time.Hour
	KeepDays    = 400 * 24 * time.Hour
)

// jobMark is how far finished jobs were rolled up.
type jobMark struct{ Minute, after int64 }

func MinuteOf(t time.Time) int64 { return t.Unix() / 60 }

func (s *Store) JobMark(ctx context.Context, tx base.Tx) (m jobMark, err error) {
	m, _, err = base.First(ctx, tx, func(r base.Rows) (m jobMark, err error) { return m, r.Scan(&m.Minute, &m.after) }, `select minute, after from belfry.rolled_jobs`)
	return m, err
}

// minuteRow and dayRow are what a minute comes to.
type minuteRow struct {
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	OK        int64  `json:"ok"`
	Failed    int64  `json:"failed"`
	Canceled  int64  `json:"canceled"`
	Skipped   int64  `json:"skipped"`
	Ran       int64  `json:"ran"`
	Started   int64  `json:"started"`
	Lag       int64  `json:"lag"`
	LagMost   int64  `json:"lag_most"`
}

type dayRow struct {
	Day        int64 `json:"day"` // since 1970, of the schedule's calendar
	ScheduleID int64 `json:"schedule_id"`
	OK         int64 `json:"ok"`
	Failed     int64 `json:"failed"`
	Canceled   int64 `json:"canceled"`
	Skipped    int64 `json:"skipped"`
	Ran        int64 `json:"ran"`
}

// RollJobs rolls up the next minute, and reports whether there is more.
func (s *Store) RollJobs(ctx context.Context) (more bool, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return false, err
	}
	var m jobMark
	err = s.DB().Read(ctx, func(tx base.Tx) (err error) {
		m, err = s.JobMark(ctx, tx)
		return err
	})
	if err != nil {
		return false, err
	}
	last := MinuteOf(now.Add(-jobGrace)) // the first that is not final yet
	if m.Minute > MinuteOf(now) {
		return true, s.RollAgain(ctx)
	}
	if m.Minute == 0 || m.after == 0 && m.Minute < last-10 {
		return true, s.skipMinutes(ctx, m, last)
	}
	if m.Minute >= last {
		return false, s.freshMinute(ctx, MinuteOf(now)-1)
	}
	minutes, days, err := s.minute(ctx, m.Minute)
	if err != nil {
		return false, err
	}
	return true, s.writeFinal(ctx, m, minutes, days)
}

// freshMinute writes the rates of a minute that is just over. What is committed
// later comes when the minute is final.
func (s *Store) freshMinute(ctx context.Context, minute int64) error {
	minutes, _, err := s.minute(ctx, minute)
	if err != nil || len(minutes) == 0 {
		return err
	}
	return s.write(ctx, "roll up minute", func(c *Change) error { return c.writeMinute(minute, minutes) })
}

// skipMinutes moves the mark over a time in which nothing ended: to begin
// with, and when nobody was there to roll up.
func (s *Store) skipMinutes(ctx context.Context, m jobMark, last int64) error {
	to := last
	err := s.DB().Read(ctx, func(tx base.Tx) error {
		to = last
		for _, query := range []string{
			`select finished_at from belfry.jobs_done where finished_at >= $1 order by finished_at limit 1`,
			`select decided_at from belfry.occurrences where decision = 'skipped' and decided_at >= $1 order by decided_at limit 1`,
		} {
			at, found, err := base.First(ctx, tx, base.ScanInt, query, m.Minute*60_000_000)
			if err != nil {
				return err
			}
			if found {
				to = min(to, MinuteOf(base.Instant(at)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if to == m.Minute { // something ended in it
		minutes, days, err := s.minute(ctx, m.Minute)
		if err != nil {
			return err
		}
		return s.writeFinal(ctx, m, minutes, days)
	}
	return s.write(ctx, "roll up jobs", func(c *Change) error {
		_, err := c.moveMark(m, jobMark{Minute: to})
		return err
	})
}

// moveMark moves the mark, unless somebody else has.
func (c *Change) moveMark(from, to jobMark) (bool, error) {
	n, err := c.Tx.Exec(c.Ctx, `update belfry.rolled_jobs set minute = $1, after = $2 where minute = $3 and after = $4`, to.Minute, to.after, from.Minute, from.after)
	return n == 1, err
}

// minute reads what ended in a minute. Checks are no days of schedules: they
// have a history of their own.
func (s *Store) minute(ctx context.Context, minute int64) (minutes []minuteRow, days []dayRow, err error) {
	lo, hi := minute*60_000_000, (minute+1)*60_000_000
	type group struct {
		minuteRow
		scheduleID, n  int64
		quarter        int64 // of an hour, in which its nominal time lies
		state, trigger string
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		groups, err := base.Collect(ctx, tx, func(r base.Rows) (g group, err error) {
			return g, r.Scan(&g.Namespace, &g.Queue, &g.scheduleID, &g.state, &g.trigger, &g.quarter, &g.n, &g.Ran, &g.Started, &g.Lag, &g.LagMost)
		}, `
			select namespace, queue, schedule_id, state, trigger,
				case when schedule_id > 0 and trigger <> 'check' then (case when nominal > 0 then nominal else finished_at end) / 900000000 else 0 end,
				count(*),
				cast(sum(case when claimed_at > 0 then finished_at - claimed_at else 0 end) as bigint),
				sum(case when claimed_at > 0 then 1 else 0 end),
				cast(sum(case when claimed_at > due_at then claimed_at - due_at else 0 end) as bigint),
				max(case when claimed_at > due_at then claimed_at - due_at else 0 end)
			from belfry.jobs_done
			where finished_at >= $1 and finished_at < $2
			group by namespace, queue, schedule_id, state, trigger, 6`, lo, hi)
		if err != nil {
			return err
		}
		type key struct{ namespace, queue string }
		skips, err := base.Collect(ctx, tx, func(r base.Rows) (p [3]int64, err error) { return p, r.Scan(&p[0], &p[1], &p[2]) }, `
			select schedule_id, nominal / 900000000, cast(sum(count) as bigint)
			from belfry.occurrences
			where decision = 'skipped' and decided_at >= $1 and decided_at < $2
			group by schedule_id, 2`, lo, hi)
		if err != nil {
			return err
		}
		var schedules []int64
		for _, g := range groups {
			if g.quarter > 0 {
				schedules = append(schedules, g.scheduleID)
			}
		}
		for _, p := range skips {
			schedules = append(schedules, p[0])
		}
		zones, err := s.zonesOf(ctx, tx, schedules)
		if err != nil {
			return err
		}
		byQueue, byDay := map[key]*job.MinuteTotals{}, map[scheduleDay]*view.ScheduleDay{}
		for _, g := range groups {
			q := byQueue[key{g.Namespace, g.Queue}]
			if q == nil {
				q = &job.MinuteTotals{}
				byQueue[key{g.Namespace, g.Queue}] = q
			}
			var d view.ScheduleDay
			d.Tally(job.State(g.state), g.n, core.Duration(g.Ran))
			q.Add(job.MinuteTotals{OK: d.OK, Failed: d.Failed, Canceled: d.Canceled, Skipped: d.Skipped, Ran: d.Ran,
				Started: g.Started, Lag: core.Duration(g.Lag), LagMost: core.Duration(g.LagMost)})
			if g.quarter > 0 {
				dayOf(byDay, scheduleDay{g.scheduleID, dayIn(zones[g.scheduleID], g.quarter*900_000_000)}).Tally(job.State(g.state), g.n, core.Duration(g.Ran))
			}
		}
		for _, p := range skips {
			dayOf(byDay, scheduleDay{p[0], dayIn(zones[p[0]], p[1]*900_000_000)}).Tally(job.Skipped, p[2], 0)
		}
		minutes, days = nil, nil
		for k, q := range byQueue {
			minutes = append(minutes, minuteRow{k.namespace, k.queue, q.OK, q.Failed, q.Canceled, q.Skipped, int64(q.Ran), q.Started, int64(q.Lag), int64(q.LagMost)})
		}
		for at, d := range byDay {
			days = append(days, dayRow{at.day, at.schedule, d.OK, d.Failed, d.Canceled, d.Skipped, int64(d.Ran)})
		}
		return nil
	})
	slices.SortFunc(minutes, func(a, b minuteRow) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue))
	})
	slices.SortFunc(days, func(a, b dayRow) int {
		return cmp.Or(cmp.Compare(a.ScheduleID, b.ScheduleID), cmp.Compare(a.Day, b.Day))
	})
	return minutes, days, err
}

// scheduleDay is a day of a schedule's calendar.
type scheduleDay struct{ schedule, day int64 }

func dayOf[K comparable](days map[K]*view.ScheduleDay, at K) *view.ScheduleDay {
	d := days[at]
	if d == nil {
		d = &view.ScheduleDay{}
		days[at] = d
	}
	return d
}

// dayIn is the day of an instant in microseconds where a zone is, since 1970.
// All instants of a quarter of an hour have the same: so do offsets of zones.
func dayIn(zone *time.Location, at int64) int64 {
	if zone == nil {
		zone = time.UTC // of a schedule that is gone
	}
	y, m, d := base.Instant(at).In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// zonesOf are the zones that schedules are read in.
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
		zones[id], _ = cron.LoadZone(sc.Zone) // one that is not known here any more counts as UTC
		return sc, nil
	}, `select s.id, s.doc from belfry.schedules s where `+s.SQL.In("s.id", 1), s.SQL.List(slices.Compact(ids)))
	return zones, err
}

// writeFinal writes a minute for good, in parts.
func (s *Store) writeFinal(ctx context.Context, m jobMark, minutes []minuteRow, days []dayRow) error {
	days = slices.DeleteFunc(days, func(d dayRow) bool { return d.ScheduleID <= m.after })
	for {
		n := min(len(days), RollBatch)
		for n > 0 && n < len(days) && days[n].ScheduleID == days[n-1].ScheduleID {
			n++ // the mark knows whole schedules only
		}
		part := days[:n]
		days = days[len(part):]
		to := jobMark{Minute: m.Minute + 1}
		if len(days) > 0 {
			to = jobMark{m.Minute, part[len(part)-1].ScheduleID}
		}
		moved := false
		err := s.write(ctx, "roll up jobs", func(c *Change) (err error) {
			if moved, err = c.moveMark(m, to); err != nil || !moved {
				return err
			}
			if err := c.addDays(part); err != nil {
				return err
			}
			if m.after > 0 {
				return nil
			}
			return c.writeMinute(m.Minute, minutes)
		})
		if err != nil || !moved || len(days) == 0 {
			return err
		}
		m = to
	}
}

func (c *Change) addDays(rows []dayRow) error {
	if len(rows) == 0 {
		return nil
	}
	from, args := c.SQL.Table(1, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.schedule_days (day, schedule_id, ok, failed, canceled, skipped, ran)
		select day, schedule_id, ok, failed, canceled, skipped, ran
		from `+from+`
		where true
		on conflict (day, schedule_id) do update
		set ok = belfry.schedule_days.ok + excluded.ok, failed = belfry.schedule_days.failed + excluded.failed,
			canceled = belfry.schedule_days.canceled + excluded.canceled, skipped = belfry.schedule_days.skipped + excluded.skipped,
			ran = belfry.schedule_days.ran + excluded.ran`, args...)
	return err
}

const MinuteColumns = `minute, namespace, queue, ok, failed, canceled, skipped, ran, started, lag, lag_most`

func (c *Change) writeMinute(minute int64, rows []minuteRow) error {
	if _, err := c.Tx.Exec(c.Ctx, `delete from belfry.job_minutes where minute = $1`, minute); err != nil || len(rows) == 0 {
		return err
	}
	from, args := c.SQL.Table(2, "t", base.BatchOf(rows))
	_, err := c.Tx.Exec(c.Ctx, `
		insert into belfry.job_minutes (`+MinuteColumns+`)
		select $1, namespace, queue, ok, failed, canceled, skipped, ran, started, lag, lag_most
		from `+from+`
		where true
		on conflict (minute, namespace, queue) do nothing`, append([]any{minute}, args...)...)
	return err
}

// JobMinutes says what ended in each of the last minutes, oldest first.
func (s *Store) JobMinutes(ctx context.Context, q job.MinuteQuery) (all []job.MinuteTotals, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	if q.Within < 0 || q.Within > KeepMinutes {
		return nil, core.InvalidField("within", q.Within.String(), "is outside 1m to 48h", "such as 1h")
	}
	if q.Within == 0 {
		q.Within = time.Hour
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		all, err = s.MinutesIn(ctx, tx, base.NamespaceOr(q.Namespace), q.Queue, now.Add(-q.Within))
		return err
	})
	return all, err
}

func (s *Store) MinutesIn(ctx context.Context, tx base.Tx, namespace, queue string, from time.Time) ([]job.MinuteTotals, error) {
	w := &base.Where{}
	w.And("minute >= ?", MinuteOf(from))
	w.Namespace("namespace", namespace)
	w.Equals("queue", queue)
	rows, err := base.Collect(ctx, tx, ScanMinute, `select `+MinuteColumns+` from belfry.job_minutes where `+w.Sql()+` order by minute`, w.Args...)
	all := []job.MinuteTotals{}
	for _, r := range rows {
		if n := len(all); n == 0 || !all[n-1].Minute.Equal(r.Minute) {
			all = append(all, job.MinuteTotals{Minute: r.Minute})
		}
		all[len(all)-1].Add(r.MinuteTotals)
	}
	return all, err
}

type minuteOfQueue struct {
	job.MinuteTotals
	Queue string
}

func ScanMinute(r base.Rows) (m minuteOfQueue, err error) {
	var minute, ran, lag, most int64
	var namespace string
	err = r.Scan(&minute, &namespace, &m.Queue, &m.OK, &m.Failed, &m.Canceled, &m.Skipped, &ran, &m.Started, &lag, &most)
	m.Minute, m.Ran, m.Lag, m.LagMost = time.Unix(minute*60, 0).UTC(), InMicros(ran), InMicros(lag), InMicros(most)
	return m, err
}

// InMicros is a span that is kept in microseconds.
func InMicros(us int64) core.Duration {
	return core.Duration(time.Duration(us) * time.Microsecond)
}

// liveLook bounds what is counted of a schedule since the last roll-up.
const liveLook = 5000

// ScheduleDays says what became of a schedule's runs, day by day. What was not
// rolled up yet is counted as it is.
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
		days := map[int64]*view.ScheduleDay{}
		if err := s.rolledDays(ctx, tx, row.ID, q, days); err != nil {
			return err
		}
		if out.Partial, err = s.liveDays(ctx, tx, row.ID, zone, days); err != nil {
			return err
		}
		out.Days = []view.ScheduleDay{}
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

func (s *Store) rolledDays(ctx context.Context, tx base.Tx, schedule int64, q view.DaysQuery, days map[int64]*view.ScheduleDay) error {
	var wanted []int64
	for d := q.From; !d.After(q.To); d = d.Add(base.OneDay) {
		wanted = append(wanted, d.Unix()/86400)
	}
	_, err := base.Collect(ctx, tx, func(r base.Rows) (d view.ScheduleDay, err error) {
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

// liveDays adds what was not rolled up yet.
func (s *Store) liveDays(ctx context.Context, tx base.Tx, schedule int64, zone *time.Location, days map[int64]*view.ScheduleDay) (partial bool, err error) {
	m, err := s.JobMark(ctx, tx)
	if err != nil {
		return false, err
	}
	if m.after >= schedule { // its part of that minute was
		m.Minute++
	}
	type end struct {
		state              string
		at, took, num, day int64
	}
	scan := func(r base.Rows) (e end, err error) { return e, r.Scan(&e.state, &e.at, &e.took, &e.num, &e.day) }
	for _, query := range []string{
		`select state, finished_at, case when claimed_at > 0 then finished_at - claimed_at else 0 end, 1, case when nominal > 0 then nominal else finished_at end from belfry.jobs_done where schedule_id = $1 and schedule_id > 0 and trigger <> 'check' order by id desc`,
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
