package monitors

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// PauseMonitor pauses a monitor until an instant or, if until is zero, until it is resumed. Paused time does not count for
// uptime.
func (s *Store) PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (out view.MonitorView, err error) {
	if len(reason) > core.MaxDescription {
		return out, core.InvalidField("reason", "", fmt.Sprintf("has more than %d bytes", core.MaxDescription), "")
	}
	err = s.write(ctx, "pause monitor", func(c *Change) error {
		if !until.IsZero() && !until.After(c.Now) {
			return core.InvalidField("until", until.Format(time.RFC3339), "has passed", "leave it out to pause until it is resumed")
		}
		row, err := s.ReadMonitor(ctx, c.Tx, namespace, name, false)
		if err != nil {
			return err
		}
		if row.Heartbeat == nil {
			if _, err := c.schedules().PauseSchedule(namespace, task.OwnedName(name), reason); err != nil {
				return err
			}
		}
		if row, err = s.ReadMonitor(ctx, c.Tx, namespace, name, true); err != nil {
			return err
		}
		if err := c.withdrawAdded(row, schedule.ReasonPaused, "monitor paused: "+reason); err != nil {
			return err
		}
		if err := c.applyJudgement(&row, monitor.PauseMonitor(row.Monitor, row.State, core.Micro(until), access.ActorOf(ctx), reason, c.Now), nil); err != nil {
			return err
		}
		out = row.view()
		return c.Audit("pause", "monitor", namespace, name, reason, nil, nil)
	})
	return out, err
}

// withdrawAdded withdraws the checks that verdicts requested while the schedule of a monitor was being stopped. Such checks are
// written under the monitor's lock, so the transition that now holds this lock sees all of them. It does not wait for jobs that
// another transaction has locked, because an ending check holds its job when it locks its monitor. Such a job runs, or ends
// when it is claimed.
func (c *Change) withdrawAdded(row MonitorRow, reason core.Reason, note string) error {
	if row.scheduleID == 0 {
		return nil
	}
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where schedule_id = $1 and `+c.s.Unleased()+`
		order by id`+c.SQL.SkipLocked("jobs"), row.scheduleID)
	if err != nil {
		return err
	}
	return c.jobs().WithdrawJobs(ids, reason, note)
}

// ResumeMonitor resumes a paused monitor. Its former state is discarded: the state is new until the next check.
func (s *Store) ResumeMonitor(ctx context.Context, namespace, name string) (out view.MonitorView, err error) {
	err = s.write(ctx, "resume monitor", func(c *Change) error {
		row, err := c.resumeMonitor(namespace, name)
		out = row.view()
		return err
	})
	return out, err
}

func (c *Change) resumeMonitor(namespace, name string) (row MonitorRow, err error) {
	if row, err = c.s.ReadMonitor(c.Ctx, c.Tx, namespace, name, false); err != nil {
		return row, err
	}
	if row.Heartbeat == nil {
		if _, err := c.schedules().ResumeSchedule(namespace, task.OwnedName(name), false); err != nil {
			return row, err
		}
	}
	if row, err = c.s.ReadMonitor(c.Ctx, c.Tx, namespace, name, true); err != nil {
		return row, err
	}
	if row.State.PausedAt.IsZero() {
		return row, nil
	}
	env, err := c.Surroundings(row)
	if err != nil {
		return row, err
	}
	if err := c.applyJudgement(&row, monitor.ResumeMonitor(row.Monitor, row.State, env, c.Now), nil); err != nil {
		return row, err
	}
	if err := c.checkSoon(&row); err != nil {
		return row, err
	}
	return row, c.Audit("resume", "monitor", namespace, name, "", nil, nil)
}
