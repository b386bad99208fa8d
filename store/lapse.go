package store

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// lapseBatch bounds the monitors that are looked at in one transaction.
const lapseBatch = 500

// LapseMonitors does what time alone brings: the end of a timed pause, the
// edges of maintenance, heartbeats that did not come. Every node may call it at
// the same time.
func (s *Store) LapseMonitors(ctx context.Context) (out view.Lapsed, err error) {
	err = s.write(ctx, "lapse monitors", func(c *change) error {
		out = view.Lapsed{Now: c.now}
		resumable, err := c.resumable()
		if err != nil {
			return err
		}
		rows, err := collect(ctx, c.tx, s.scanMonitor, `
			select `+monitorColumns+`
			from belfry.monitors m
			where m.wake_at > 0 and m.wake_at <= $1
			order by m.wake_at, m.id
			limit $2 + 0`+s.sql.SkipLocked("m"), micros(c.now), lapseBatch)
		if err != nil {
			return err
		}
		out.Monitors = len(rows)
		for i := range rows {
			if m := rows[i]; !m.state.PausedAt.IsZero() && m.scheduleID > 0 && !slices.Contains(resumable, m.scheduleID) {
				continue // somebody changes it at this moment
			}
			if err := c.lapse(&rows[i]); err != nil {
				return err
			}
		}
		if err := c.saveMonitors(rows); err != nil {
			return err
		}
		next, _, err := first(ctx, c.tx, scanInt, `select wake_at from belfry.monitors where wake_at > 0 order by wake_at limit 1`)
		out.NextAt = instant(next)
		return err
	})
	return out, err
}

// resumable locks the schedules of the first monitors whose pause may be over,
// as far as nobody else holds them. Schedules are locked before monitors. They
// are taken in the order of these, or a batch could have one part of each and
// nothing of both.
func (c *change) resumable() ([]int64, error) {
	return collect(c.ctx, c.tx, scanInt, `
		select s.id
		from belfry.schedules s
		where s.id in (
			select m.schedule_id
			from belfry.monitors m
			where m.wake_at > 0 and m.wake_at <= $1 and m.status = 'paused' and m.schedule_id > 0
			order by m.wake_at, m.id
			limit $2 + 0)
		order by s.id`+c.sql.SkipLocked("s"), micros(c.now), lapseBatch)
}

func (c *change) lapse(row *monitorRow) error {
	env, err := c.surroundings(*row)
	if err != nil {
		// Its rules are checked when it is saved, so this is a zone that this
		// machine does not know. It must not hold up the others.
		c.s.opt.Logger.Error("monitor cannot be computed, put off for a minute", "monitor", row.Name, "namespace", row.Namespace, "error", err)
		row.wakeAt, row.changed = c.now.Add(time.Minute), true
		return nil
	}
	before := row.state
	j := monitor.Lapse(row.Monitor, row.state, env, c.now)
	if err := c.takeJudgement(row, j, nil); err != nil {
		return err
	}
	if now := row.state; !now.LastAt.Equal(before.LastAt) { // a heartbeat that did not come
		missed := checked{Observation: monitor.Observation{At: now.LastAt, Measure: task.Measure{Outcome: now.LastOutcome, Code: now.LastCode, Message: now.LastMessage}}}
		if err := c.writeResults([]resultRow{resultRowOf(row.ID, missed)}); err != nil {
			return err
		}
	}
	if before.PausedAt.IsZero() || !row.state.PausedAt.IsZero() || row.scheduleID == 0 {
		return nil
	}
	sc, err := c.resumeSchedule(row.Namespace, task.OwnedName(row.Name), false)
	if err != nil {
		return err
	}
	row.nextAt = micros(sc.NextAt)
	return c.checkSoon(row)
}
