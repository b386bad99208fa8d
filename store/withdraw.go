package store

import (
	"fmt"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
)

// withdraw ends jobs that have not started.
func (c *change) withdraw(cond string, arg any, reason core.Reason, note string) error {
	// Those that run are left alone, and cycles that are under way. A finish holds the row of its job and may
	// wait for the schedule's, which whoever withdraws holds.
	ids, err := collect(c.ctx, c.tx, scanInt, `
		select id
		from belfry.jobs
		where `+cond+` and not (kind = 'cycle' and state = 'waiting') and `+c.s.unleased()+`
		order by id`, arg)
	if err != nil {
		return err
	}
	return c.withdrawJobs(ids, reason, note)
}

func (c *change) withdrawJobs(ids []int64, reason core.Reason, note string) error {
	rows, err := c.lockJobs(ids)
	if err != nil {
		return err
	}
	var ends []ending
	for _, j := range rows {
		if j.State != job.Running {
			ends = append(ends, ending{row: j, settled: job.Withdraw(j.Job, reason, note)})
		}
	}
	if len(ends) == 0 {
		return nil
	}
	return c.end(ends, reason != schedule.ReasonEdited)
}

// withdrawOf ends what waits of a schedule: jobs that have not started, and
// occurrences in its buffer.
func (c *change) withdrawOf(row scheduleRow, reason core.Reason, note string) error {
	if err := c.withdraw(`schedule_id = $1 and origin in ('schedule', 'check')`, row.ID, reason, note); err != nil {
		return err
	}
	_, err := c.tx.Exec(c.ctx, `
		update belfry.occurrences
		set decision = 'skipped', reason = $2, note = $3, decided_at = $4
		where schedule_id = $1 and decision = 'buffered'`, row.ID, string(reason), note, micros(c.now))
	return err
}

// terminate ends jobs here and now. Whatever their workers say later comes
// under a lease that no live job has any more.
func (c *change) terminate(ids []int64) error {
	rows, err := c.lockJobs(ids)
	if err != nil {
		return err
	}
	ends := make([]ending, len(rows))
	for i, j := range rows {
		s := job.Withdraw(j.Job, schedule.ReasonReplaced, "a later run of its schedule took its place")
		if j.State == job.Running {
			s.State, s.Outcome, s.Error = job.Canceled, job.OutcomeCanceled, "terminated: a later run took its place"
			c.wake(topicSession(j.Session))
		}
		ends[i] = ending{row: j, settled: s}
	}
	return c.end(ends, false)
}

// withdrawTask ends the jobs of a task that is deleted.
func (c *change) withdrawTask(t task.Task) error {
	return c.withdraw(`task_id = $1`, t.ID, schedule.ReasonDeleted, fmt.Sprintf("task %s deleted", t.Name))
}

// followTask gives the jobs of a task that was edited, and that nobody has leased, what says who may claim them. A cycle
// under way stays one.
func (c *change) followTask(old, t task.Task, demand int64) error {
	if was := old.Demand(); old.Kind == t.Kind && was.String() == t.Demand().String() {
		return nil
	}
	c.after(c.s.water.drain)
	if _, err := c.tx.Exec(c.ctx, `
		update belfry.jobs
		set kind = $2, demand = $3
		where task_id = $1 and not (kind = 'cycle' and state = 'waiting') and `+c.s.unleased(), t.ID, string(t.Kind), demand); err != nil {
		return err
	}
	c.wake(topicQueue(t.Queue))
	return nil
}
