package monitors

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// lapseBatch bounds the monitors that one transaction looks at.
const lapseBatch = 500

// LapseMonitors applies the effects of time alone: the end of a timed pause, the start and end of maintenance, missed
// heartbeats. Every node may call it at the same time.
func (s *Store) LapseMonitors(ctx context.Context) (out view.Lapsed, err error) {
	err = s.write(ctx, "lapse monitors", func(c *Change) error {
		out = view.Lapsed{Now: c.Now}
		resumable, err := c.resumable()
		if err != nil {
			return err
		}
		rows, err := base.Collect(ctx, c.Tx, s.ScanMonitor, `
			select `+MonitorColumns+`
			from belfry.monitors m
			where m.wake_at > 0 and m.wake_at <= $1
			order by m.wake_at, m.id
			limit $2 + 0`+s.SQL.SkipLocked("m"), base.Micros(c.Now), lapseBatch)
		if err != nil {
			return err
		}
		out.Monitors = len(rows)
		for i := range rows {
			if m := rows[i]; !m.State.PausedAt.IsZero() && m.scheduleID > 0 && !slices.Contains(resumable, m.scheduleID) {
				continue // another transaction is changing the schedule
			}
			if err := c.lapse(&rows[i]); err != nil {
				return err
			}
		}
		if err := c.SaveMonitors(rows); err != nil {
			return err
		}
		next, _, err := base.First(ctx, c.Tx, base.ScanInt, `select wake_at from belfry.monitors where wake_at > 0 order by wake_at limit 1`)
		out.NextAt = base.Instant(next)
		return err
	})
	return out, err
}

// resumable locks the schedules of the first monitors whose pause may be over, except those that other transactions hold.
// Schedules are locked before monitors. Both are selected in the same order: otherwise a batch could hold one part of the
// schedules and another part of the monitors.
func (c *Change) resumable() ([]int64, error) {
	return base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select s.id
		from belfry.schedules s
		where s.id in (
			select m.schedule_id
			from belfry.monitors m
			where m.wake_at > 0 and m.wake_at <= $1 and m.status = 'paused' and m.schedule_id > 0
			order by m.wake_at, m.id
			limit $2 + 0)
		order by s.id`+c.SQL.SkipLocked("s"), base.Micros(c.Now), lapseBatch)
}

func (c *Change) lapse(row *MonitorRow) error {
	env, err := c.Surroundings(*row)
	if err != nil {
		// Its rules are validated when it is saved, so the cause is a time zone that this machine does not know. It must not
		// hold up the others.
		c.s.Opt.Logger.Error("monitor cannot be computed, trying again in a minute", "monitor", row.Name, "namespace", row.Namespace, "error", err)
		row.wakeAt, row.changed = c.Now.Add(time.Minute), true
		return nil
	}
	before := row.State
	j := monitor.Lapse(row.Monitor, row.State, env, c.Now)
	if err := c.TakeJudgement(row, j, nil); err != nil {
		return err
	}
	if now := row.State; !now.LastAt.Equal(before.LastAt) { // a missed heartbeat
		missed := checked{Observation: monitor.Observation{At: now.LastAt, CheckResult: task.CheckResult{Outcome: now.LastOutcome, Code: now.LastCode, Message: now.LastMessage}}}
		if err := c.writeResults([]resultRow{resultRowOf(row.ID, missed)}); err != nil {
			return err
		}
	}
	if before.PausedAt.IsZero() || !row.State.PausedAt.IsZero() || row.scheduleID == 0 {
		return nil
	}
	sc, err := c.schedules().ResumeSchedule(row.Namespace, task.OwnedName(row.Name), false)
	if err != nil {
		return err
	}
	row.nextAt = base.Micros(sc.NextAt)
	return c.checkSoon(row)
}
