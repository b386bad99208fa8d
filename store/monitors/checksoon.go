package monitors

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/task"
)

// CheckMonitor requests a check now, in addition to the schedule. Its result counts like any other.
func (s *Store) CheckMonitor(ctx context.Context, namespace, name string) (j job.Job, err error) {
	err = s.write(ctx, "check monitor", func(c *Change) error {
		row, err := c.checkable(namespace, name)
		if err != nil {
			return err
		}
		if j, err = c.checkAt(row, c.Now); err != nil {
			return err
		}
		return c.Audit("check", "monitor", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// checkable returns a monitor that may be checked now. Its schedule is locked before that is decided. A concurrent pause or
// deletion either sees the check and withdraws it, or is seen here.
func (c *Change) checkable(namespace, name string) (row MonitorRow, err error) {
	if row, err = c.s.ReadMonitor(c.Ctx, c.Tx, namespace, name, false); err != nil {
		return row, err
	}
	if row.Heartbeat != nil {
		return row, core.Errorf(core.Conflict, "monitor %q is a heartbeat: it waits to be called", name).WithHint("call its URL, see: belfry monitor show %s", name)
	}
	_, err = c.s.schedules.ReadSchedule(c.Ctx, c.Tx, namespace, task.OwnedName(name), true)
	if core.CodeOf(err) == core.NotFound {
		return row, noMonitor(namespace, name) // deleted meanwhile
	}
	if err != nil {
		return row, err
	}
	row, err = c.s.ReadMonitor(c.Ctx, c.Tx, namespace, name, false)
	if err == nil && !row.State.PausedAt.IsZero() {
		err = core.Errorf(core.Conflict, "monitor %q is paused", name).WithHint("belfry monitor resume %s", name)
	}
	return row, err
}

// soon is the time within which a monitor without a verdict is checked. The checks of many new monitors are spread over it.
const soon = 30 * time.Second

// checkSoon requests a check of a monitor that would otherwise have no verdict for long.
func (c *Change) checkSoon(row *MonitorRow) error {
	next := base.Instant(row.nextAt)
	if row.scheduleID == 0 || len(row.Within)+len(row.Blackout) > 0 || !next.IsZero() && next.Sub(c.Now) <= 2*soon {
		return nil
	}
	j, err := c.checkAt(*row, c.Now.Add(time.Second+time.Duration(row.ID*7919%29_000)*time.Millisecond))
	row.againAt = base.Micros(j.DueAt)
	return err
}

// checkAt creates the job of an additional check. The caller has locked the schedule or the monitor, so neither of them, nor
// their task, is deleted meanwhile.
func (c *Change) checkAt(row MonitorRow, at time.Time) (job.Job, error) {
	sc, err := c.s.schedules.ReadSchedule(c.Ctx, c.Tx, row.Namespace, task.OwnedName(row.Name), false)
	if err != nil {
		return job.Job{}, err
	}
	tasks, err := c.tasks().TasksByID([]int64{sc.TaskID})
	if err != nil {
		return job.Job{}, err
	}
	ids, err := c.SQL.NextIDs(c.Ctx, c.Tx, "job", 1)
	if err != nil {
		return job.Job{}, err
	}
	j := c.schedules().ScheduledJob(sc, tasks[sc.TaskID], schedule.Occurrence{JobID: ids[0], DueAt: core.Micro(at)})
	err = c.jobs().InsertJobs([]*jobs.Insertion{{JobRow: j}})
	return j.Job, err
}

// CheckOf returns the task of a monitor, with its secrets, for a caller that runs the check once to see the outcome.
func (s *Store) CheckOf(ctx context.Context, namespace, monitor string) (t task.Task, err error) {
	err = s.DB().Read(ctx, func(tx base.Tx) error {
		row, err := s.ReadMonitor(ctx, tx, base.NamespaceOr(namespace), monitor, false)
		if err == nil && row.Heartbeat != nil {
			err = core.Errorf(core.Conflict, "monitor %q is a heartbeat: it waits to be called", monitor)
		}
		t = base.Own(row.Task())
		return err
	})
	return t, err
}
