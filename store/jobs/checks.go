package jobs

import (
	"github.com/belfry-run/belfry/job"
)

// LeavesResult reports that what the end of an attempt says is kept as a result
// of its monitor: a target that is down is no job that failed.
func (e Ending) LeavesResult() bool {
	if e.Row.Trigger != job.TriggerCheck || e.Row.State != job.Running || !e.Settled.State.Final() {
		return false
	}
	_, seen := e.Settled.CheckResult(e.Row.Kind)
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
