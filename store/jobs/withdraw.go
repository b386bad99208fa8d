package jobs

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// Withdraw ends jobs that have not started.
func (c *Change) Withdraw(cond string, arg any, reason core.Reason, note string) error {
	// Those that run are left alone, and cycles that are under way. A finish holds the row of its job and may
	// wait for the schedule's, which whoever withdraws holds.
	ids, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `
		select id
		from belfry.jobs
		where `+cond+` and not (kind = 'cycle' and state = 'waiting') and `+c.s.Unleased()+`
		order by id`, arg)
	if err != nil {
		return err
	}
	return c.WithdrawJobs(ids, reason, note)
}

func (c *Change) WithdrawJobs(ids []int64, reason core.Reason, note string) error {
	rows, err := c.LockJobs(ids)
	if err != nil {
		return err
	}
	var ends []Ending
	for _, j := range rows {
		if j.State != job.Running {
			ends = append(ends, Ending{Row: j, Settled: job.Withdraw(j.Job, reason, note)})
		}
	}
	if len(ends) == 0 {
		return nil
	}
	return c.End(ends, reason != schedule.ReasonEdited)
}

// Terminate ends jobs here and now. Whatever their workers say later comes
// under a lease that no live job has any more.
func (c *Change) Terminate(ids []int64) error {
	rows, err := c.LockJobs(ids)
	if err != nil {
		return err
	}
	ends := make([]Ending, len(rows))
	for i, j := range rows {
		s := job.Withdraw(j.Job, schedule.ReasonReplaced, "a later run of its schedule took its place")
		if j.State == job.Running {
			s.State, s.Outcome, s.Error = job.Canceled, job.OutcomeCanceled, "terminated: a later run took its place"
			c.Wake(base.TopicSession(j.Session))
		}
		ends[i] = Ending{Row: j, Settled: s}
	}
	return c.End(ends, false)
}

// WithdrawTask ends the jobs of a task that is deleted.
func (c *Change) WithdrawTask(t task.Task) error {
	return c.Withdraw(`task_id = $1`, t.ID, schedule.ReasonDeleted, fmt.Sprintf("task %s deleted", t.Name))
}

// FollowTask gives the jobs of a task that was edited, and that nobody has leased, what says who may claim them. A cycle
// under way stays one.
func (c *Change) FollowTask(old, t task.Task, requirement int64) error {
	if was := old.Requirement(); old.Kind == t.Kind && was.String() == t.Requirement().String() {
		return nil
	}
	c.After(c.s.water.Drain)
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.jobs
		set kind = $2, requirement = $3
		where task_id = $1 and not (kind = 'cycle' and state = 'waiting') and `+c.s.Unleased(), t.ID, string(t.Kind), requirement); err != nil {
		return err
	}
	c.Wake(base.TopicQueue(t.Queue))
	return nil
}

// CancelRows ends locked jobs that wait, and marks those that run.
func (c *Change) CancelRows(rows []JobRow, reason core.Reason, note string) error {
	var waiting []Ending
	var running []int64
	for _, j := range rows {
		if j.State != job.Running {
			waiting = append(waiting, Ending{Row: j, Settled: job.Withdraw(j.Job, reason, note)})
			continue
		}
		running = append(running, j.ID)
		c.Wake(base.TopicSession(j.Session))
	}
	if len(running) > 0 {
		if _, err := c.Tx.Exec(c.Ctx, `
			update belfry.leases
			set cancel_at = $2, cancel_note = $3
			where `+c.SQL.In("job_id", 1)+` and cancel_at = 0`,
			c.SQL.List(running), base.Micros(c.Now), note); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return c.End(waiting, true)
}
