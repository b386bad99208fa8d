package store

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// CheckMonitor asks for a check now, beside the plan. Its result counts like
// others.
func (s *Store) CheckMonitor(ctx context.Context, namespace, name string) (j job.Job, err error) {
	err = s.write(ctx, "check monitor", func(c *change) error {
		row, err := c.checkable(namespace, name)
		if err != nil {
			return err
		}
		if j, err = c.checkAt(row, c.now); err != nil {
			return err
		}
		return c.audit("check", "monitor", namespace, name, fmt.Sprintf("job %d", j.ID), nil, nil)
	})
	return j, err
}

// checkable is a monitor that may be checked now. Its schedule is locked before
// it is judged whether it may: a pause or a deletion that runs beside us either
// sees the check and withdraws it, or is seen by us.
func (c *change) checkable(namespace, name string) (row monitorRow, err error) {
	if row, err = c.s.monitor(c.ctx, c.tx, namespace, name, false); err != nil {
		return row, err
	}
	if row.Heartbeat != nil {
		return row, core.Errorf(core.Conflict, "monitor %q is a heartbeat: it waits to be called", name).WithHint("call its URL, see: belfry monitor show %s", name)
	}
	_, err = c.s.schedule(c.ctx, c.tx, namespace, task.OwnedName(name), true)
	if core.CodeOf(err) == core.NotFound {
		return row, noMonitor(namespace, name) // deleted just now
	}
	if err != nil {
		return row, err
	}
	row, err = c.s.monitor(c.ctx, c.tx, namespace, name, false)
	if err == nil && !row.state.PausedAt.IsZero() {
		err = core.Errorf(core.Conflict, "monitor %q is paused", name).WithHint("belfry monitor resume %s", name)
	}
	return row, err
}

// soon is within which a monitor is checked that has no verdict. Many that are
// made at once spread over it.
const soon = 30 * time.Second

// checkSoon has a monitor checked that would else have no verdict for long.
func (c *change) checkSoon(row *monitorRow) error {
	next := instant(row.nextAt)
	if row.scheduleID == 0 || len(row.Within)+len(row.Blackout) > 0 || !next.IsZero() && next.Sub(c.now) <= 2*soon {
		return nil
	}
	j, err := c.checkAt(*row, c.now.Add(time.Second+time.Duration(row.ID*7919%29_000)*time.Millisecond))
	row.againAt = micros(j.DueAt)
	return err
}

// checkAt writes the job of a check beside the plan. Its caller has locked the
// schedule or the monitor, so neither goes away meanwhile, nor their task.
func (c *change) checkAt(row monitorRow, at time.Time) (job.Job, error) {
	sc, err := c.s.schedule(c.ctx, c.tx, row.Namespace, task.OwnedName(row.Name), false)
	if err != nil {
		return job.Job{}, err
	}
	tasks, err := c.tasksByID([]int64{sc.TaskID})
	if err != nil {
		return job.Job{}, err
	}
	ids, err := c.sql.NextIDs(c.ctx, c.tx, "job", 1)
	if err != nil {
		return job.Job{}, err
	}
	j := c.scheduledJob(sc, tasks[sc.TaskID], schedule.Occurrence{JobID: ids[0], DueAt: core.Micro(at)})
	err = c.insertJobs([]*insertion{{jobRow: j}})
	return j.Job, err
}

// CheckOf is what a monitor does each time, with its secrets: for who does it
// once to see what comes of it.
func (s *Store) CheckOf(ctx context.Context, namespace, monitor string) (t task.Task, err error) {
	err = s.db.Read(ctx, func(tx Tx) error {
		row, err := s.monitor(ctx, tx, namespaceOr(namespace), monitor, false)
		if err == nil && row.Heartbeat != nil {
			err = core.Errorf(core.Conflict, "monitor %q is a heartbeat: it waits to be called", monitor)
		}
		t = own(row.Task())
		return err
	})
	return t, err
}
