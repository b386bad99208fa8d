package workflows

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
)

// A transition locks jobs first, and then all runs that it changes, in the order of their ids. To end a run it needs further
// locks, and takes these only if no other transaction holds them.

// lockRuns locks the runs that match where, with ids as its argument. The fixed order prevents deadlocks between two batches.
func (c *Change) lockRuns(where string, ids []int64) ([]progress, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := (locks.Rows{Table: "workflow_runs", Key: "job_id", Where: where, Of: c.SQL.List(ids)}).NowIfBackwards(c.Change); err != nil {
		return nil, err
	}
	return base.Collect(c.Ctx, c.Tx, scanProgress, selectRuns+` where `+where+` order by job_id`+c.SQL.ForUpdate("workflow_runs"), c.SQL.List(ids))
}

// HoldRuns locks the runs of jobs together with the runs that other jobs are steps of. Without it, a transition that changes
// both would lock them one after the other, in any order.
func (c *Change) HoldRuns(runs []jobs.JobRow, steps []int64) error {
	if len(runs) == 0 || c.SQL.ForUpdate("workflow_runs") == "" {
		return nil
	}
	ids := make([]int64, len(runs))
	for i, j := range runs {
		ids[i] = j.ID
	}
	if len(steps) > 0 {
		of, err := base.Collect(c.Ctx, c.Tx, base.ScanInt, `select run_id from belfry.workflow_items where job_id > 0 and `+c.SQL.In("job_id", 1), c.SQL.List(steps))
		if err != nil {
			return err
		}
		ids = append(ids, of...)
	}
	return locks.Rows{Table: "workflow_runs", Key: "job_id", Where: c.SQL.In("job_id", 1), Of: c.SQL.List(base.Unique(ids))}.Lock(c.Change)
}

// stepIDs returns the job ids of steps.
func stepIDs(steps []jobs.MemberEnd) []int64 {
	ids := make([]int64, len(steps))
	for i, s := range steps {
		ids[i] = s.JobID
	}
	return ids
}

// lockForEnd locks the rows that the end of a run changes: the job of the run, and its parent run or the lock of cycles.
// Elsewhere the job is locked before runs, and many steps of one parent may end at once. If another transaction holds the job,
// this transaction starts again. In a transaction of the caller, or if another transaction holds one of the other rows, the
// result is false and the end is postponed.
func (c *Change) lockForEnd(p *progress) (bool, error) {
	switch {
	case !c.s.Far: // there is one writer
		return true, nil
	case !c.Foreign:
		if err := c.jobs().HoldNow([]int64{p.JobID}); err != nil {
			return false, err
		}
	default:
		if free, err := c.lockIfFree("jobs", "id", p.JobID); err != nil || !free {
			return false, err
		}
	}
	if p.Parent != 0 {
		return c.lockIfFree("workflow_runs", "job_id", p.Parent)
	}
	trigger, _, err := base.First(c.Ctx, c.Tx, base.ScanString, `select trigger from belfry.jobs where id = $1`, p.JobID)
	if err != nil || trigger != string(job.TriggerCycle) {
		return err == nil, err
	}
	return c.lockIfFree("member_timing", "task_id", 0) // a transition that advances cycles holds this lock, and then locks runs
}

// lockIfFree locks a row unless another transaction holds it. A missing row counts as free.
func (c *Change) lockIfFree(table, key string, id int64) (free bool, err error) {
	query := `select ` + key + ` from belfry.` + table + ` where ` + key + ` = $1`
	_, has, err := base.First(c.Ctx, c.Tx, base.ScanInt, query+c.SQL.SkipLocked(table), id)
	if err != nil || has {
		return has, err
	}
	_, there, err := base.First(c.Ctx, c.Tx, base.ScanInt, query, id)
	return !there, err
}
