package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/view"
)

// Finished jobs are rolled up minute by minute, twice. The first roll-up follows as soon as a minute is over, so that rates are
// fresh. The second follows when all jobs that ended in the minute are committed. It also counts for the days of schedules.
//
// The rows of a minute replace each other. The rows of days are added to, so they are written together with the mark. The mark
// moves from schedule to schedule within a minute: a node that finds that it has moved writes nothing. Claims and finishes do
// nothing here.
const (
	// jobGrace is the time after which a minute is final. Jobs committed later, by a transaction that was open so long, are in
	// no day.
	jobGrace = 2 * time.Minute

	KeepMinutes = 48 * time.Hour
	KeepDays    = 400 * 24 * time.Hour
)

// ranSQL is how long a finished job ran at last. A clock that was set back during it does not make it negative.
const ranSQL = `case when claimed_at > 0 and finished_at > claimed_at then finished_at - claimed_at else 0 end`

// jobMark is the point up to which finished jobs are rolled up.
type jobMark struct{ Minute, after int64 }

// MinuteOf returns the minute of an instant, counted since 1970.
func MinuteOf(t time.Time) int64 { return t.Unix() / 60 }

// JobMark returns how far the roll-up of ended jobs has come: its minute, and its position within the minute.
func (s *Store) JobMark(ctx context.Context, tx base.Tx) (m jobMark, err error) {
	m, _, err = base.First(ctx, tx, func(r base.Rows) (m jobMark, err error) { return m, r.Scan(&m.Minute, &m.after) }, `select minute, after from belfry.rolled_jobs`)
	return m, err
}

// rolled holds the totals of a minute.
type rolled struct {
	minutes  []minuteRow
	days     []dayRow
	taskDays []taskDayRow
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
	last := MinuteOf(now.Add(-jobGrace)) // the first minute that is not final yet
	if m.Minute > MinuteOf(now) {
		return true, s.RollAgain(ctx)
	}
	if m.Minute == 0 || m.after == 0 && m.Minute < last-10 {
		return true, s.skipMinutes(ctx, m, last)
	}
	if m.Minute >= last {
		return false, s.freshMinute(ctx, MinuteOf(now)-1)
	}
	what, err := s.minute(ctx, m.Minute)
	if err != nil {
		return false, err
	}
	return true, s.writeFinal(ctx, m, what)
}

// freshMinute writes the rates of a minute that has just ended. Jobs committed later are added when the minute is final.
func (s *Store) freshMinute(ctx context.Context, minute int64) error {
	what, err := s.minute(ctx, minute)
	if err != nil || len(what.minutes) == 0 {
		return err
	}
	return s.write(ctx, "roll up minute", func(c *Change) error { return c.writeMinute(minute, what.minutes) })
}

// skipMinutes moves the mark past minutes in which no job ended: at the first start, and after a time without a node.
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
	if to == m.Minute { // a job ended in it
		what, err := s.minute(ctx, m.Minute)
		if err != nil {
			return err
		}
		return s.writeFinal(ctx, m, what)
	}
	return s.write(ctx, "roll up jobs", func(c *Change) error {
		_, err := c.moveMark(m, jobMark{Minute: to})
		return err
	})
}

// moveMark moves the mark, unless another node has moved it.
func (c *Change) moveMark(from, to jobMark) (bool, error) {
	n, err := c.Tx.Exec(c.Ctx, `update belfry.rolled_jobs set minute = $1, after = $2 where minute = $3 and after = $4`, to.Minute, to.after, from.Minute, from.after)
	return n == 1, err
}

// minute reads the jobs that ended in a minute. Checks count for no day: they have a history of their own.
func (s *Store) minute(ctx context.Context, minute int64) (out rolled, err error) {
	lo, hi := minute*60_000_000, (minute+1)*60_000_000
	type group struct {
		minuteRow
		scheduleID     int64
		taskID, n      int64
		quarter        int64 // of an hour, in which its nominal time lies
		state, trigger string
	}
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		groups, err := base.Collect(ctx, tx, func(r base.Rows) (g group, err error) {
			return g, r.Scan(&g.Namespace, &g.Queue, &g.scheduleID, &g.taskID, &g.state, &g.trigger, &g.quarter, &g.n, &g.Ran, &g.Started, &g.Lag, &g.LagMost)
		}, `
			select namespace, queue, schedule_id, task_id, state, trigger,
				case when schedule_id > 0 and trigger <> 'check' then (case when nominal > 0 then nominal else finished_at end) / 900000000 else 0 end,
				count(*),
				cast(sum(`+ranSQL+`) as bigint),
				sum(case when claimed_at > 0 then 1 else 0 end),
				cast(sum(case when claimed_at > due_at then claimed_at - due_at else 0 end) as bigint),
				max(case when claimed_at > due_at then claimed_at - due_at else 0 end)
			from belfry.jobs_done
			where finished_at >= $1 and finished_at < $2
			group by namespace, queue, schedule_id, task_id, state, trigger, 7`, lo, hi)
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
		byQueue, byDay, byTask := map[key]*job.MinuteTotals{}, map[scheduleDay]*view.DayTotals{}, map[int64]*view.DayTotals{}
		for _, g := range groups {
			q := byQueue[key{g.Namespace, g.Queue}]
			if q == nil {
				q = &job.MinuteTotals{}
				byQueue[key{g.Namespace, g.Queue}] = q
			}
			var d view.DayTotals
			d.Tally(job.State(g.state), g.n, core.Duration(g.Ran))
			q.Add(job.MinuteTotals{OK: d.OK, Failed: d.Failed, Canceled: d.Canceled, Skipped: d.Skipped, Ran: d.Ran,
				Started: g.Started, Lag: core.Duration(g.Lag), LagMost: core.Duration(g.LagMost)})
			if g.trigger != string(job.TriggerCheck) {
				dayOf(byTask, g.taskID).Tally(job.State(g.state), g.n, core.Duration(g.Ran))
			}
			if g.quarter > 0 {
				dayOf(byDay, scheduleDay{g.scheduleID, dayIn(zones[g.scheduleID], g.quarter*900_000_000)}).Tally(job.State(g.state), g.n, core.Duration(g.Ran))
			}
		}
		for _, p := range skips {
			dayOf(byDay, scheduleDay{p[0], dayIn(zones[p[0]], p[1]*900_000_000)}).Tally(job.Skipped, p[2], 0)
		}
		out = rolled{}
		for k, q := range byQueue {
			out.minutes = append(out.minutes, minuteRow{k.namespace, k.queue, q.OK, q.Failed, q.Canceled, q.Skipped, int64(q.Ran), q.Started, int64(q.Lag), int64(q.LagMost)})
		}
		for at, d := range byDay {
			out.days = append(out.days, dayRow{at.day, at.schedule, d.OK, d.Failed, d.Canceled, d.Skipped, int64(d.Ran)})
		}
		for id, d := range byTask {
			out.taskDays = append(out.taskDays, taskDayRow{minute / (24 * 60), id, d.OK, d.Failed, d.Canceled, d.Skipped, int64(d.Ran)})
		}
		return nil
	})
	slices.SortFunc(out.minutes, func(a, b minuteRow) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue))
	})
	slices.SortFunc(out.days, func(a, b dayRow) int {
		return cmp.Or(cmp.Compare(a.ScheduleID, b.ScheduleID), cmp.Compare(a.Day, b.Day))
	})
	slices.SortFunc(out.taskDays, func(a, b taskDayRow) int { return cmp.Compare(a.TaskID, b.TaskID) })
	return out, err
}

// writeFinal writes a final minute, in parts.
func (s *Store) writeFinal(ctx context.Context, m jobMark, what rolled) error {
	days := slices.DeleteFunc(what.days, func(d dayRow) bool { return d.ScheduleID <= m.after })
	for {
		n := min(len(days), RollBatch)
		for n > 0 && n < len(days) && days[n].ScheduleID == days[n-1].ScheduleID {
			n++ // the mark can only stand between two schedules
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
			if err := addTotals(c, "schedule_days", "schedule_id", part); err != nil {
				return err
			}
			if m.after > 0 {
				return nil
			}
			if err := addTotals(c, "task_days", "task_id", what.taskDays); err != nil {
				return err
			}
			return c.writeMinute(m.Minute, what.minutes)
		})
		if err != nil || !moved || len(days) == 0 {
			return err
		}
		m = to
	}
}
