package jobs

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// LeavesResult reports that what the end of an attempt says is kept as a result
// of its monitor: a target that is down is no job that failed.
func (e Ending) LeavesResult() bool {
	if e.Row.Trigger != job.TriggerCheck || e.Row.State != job.Running || !e.Settled.State.Final() {
		return false
	}
	_, seen := MeasureOfEnd(e)
	return seen
}

// forgetChecks takes checks away of which a result is kept, with what their
// attempts have written.
func forgetChecks(c *Change, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	for _, query := range []string{
		`delete from belfry.jobs where ` + c.SQL.In("id", 1),
		`delete from belfry.attempts where ` + c.SQL.In("job_id", 1),
		`delete from belfry.logs where ` + c.SQL.In("job_id", 1),
	} {
		if _, err := c.Tx.Exec(c.Ctx, query, c.SQL.List(jobs)); err != nil {
			return err
		}
	}
	return nil
}

// MeasureOfEnd is what the end of an attempt says about a target.
func MeasureOfEnd(e Ending) (m task.Measure, seen bool) {
	m.Message, _ = core.CleanText(e.Settled.Error, task.MaxCheckMessage)
	byItself := e.Row.Kind == task.KindCommand || e.Row.Kind == task.KindProgram || e.Row.Kind == task.KindFunc
	switch {
	case e.Settled.State == job.Canceled || e.Settled.State == job.Skipped:
		return m, false // somebody did not want it
	case e.Settled.Outcome == job.OutcomeOK:
		m.Outcome = task.CheckOK
	case e.Settled.Outcome == job.OutcomeLost:
		m.Outcome, m.Code = task.CheckError, task.CodeLost
	case byItself && e.Settled.Outcome == job.OutcomeTimeout:
		m.Outcome, m.Code = task.CheckFail, task.CodeTimeout
	case byItself:
		m.Outcome, m.Code = task.CheckFail, task.CodeReported
	default:
		m.Outcome, m.Code = task.CheckError, task.CodeInternal
	}
	return m, true
}
