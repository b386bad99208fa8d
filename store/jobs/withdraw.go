package jobs

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// WithdrawJobs ends the jobs among ids that are not running.
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

// Terminate ends jobs at once. Later reports of their workers are stale: no live job has their leases.
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

// CancelRows ends locked jobs that wait, and marks running jobs as to be canceled.
func (c *Change) CancelRows(rows []JobRow, reason core.Reason, note string) error {
	var waiting []Ending
	var running []int64
	var runs []JobRow
	for _, j := range rows {
		if j.Kind == task.KindWorkflow && j.State == job.Waiting && j.Reason == "" { // a workflow ends when its cleanup has run
			runs = append(runs, j)
			continue
		}
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
	if len(runs) > 0 {
		if err := c.s.Hooks.StopRuns(c, runs, waiting, reason, note); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return c.End(waiting, true)
}
