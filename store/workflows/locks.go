package workflows

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
)

// A transition locks jobs, and then the runs that it changes, all of them at once in the order of their ids. Further
// locks, to end a run, it takes only if no other transaction has them.

// busyLook is how soon to look again at a run whose job another transaction was changing.
const busyLook = 20 * time.Millisecond

// lockRuns locks the runs whose job_id is as where says of ids, in one order, so that two batches cannot wait for each other.
func (c *Change) lockRuns(where string, ids []int64) ([]progress, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if err := (locks.Rows{Table: "workflow_runs", Key: "job_id", Where: where, Of: c.SQL.List(ids)}).NowIfBackwards(c.Change); err != nil {
		return nil, err
	}
	return base.Collect(c.Ctx, c.Tx, scanProgress, selectRuns+` where `+where+` order by job_id`+c.SQL.ForUpdate("workflow_runs"), c.SQL.List(ids))
}

// HoldRuns locks the runs of jobs together with those that other jobs are steps of. A transition that changes both would
// lock them one after the other, in any order.
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

// stepIDs are the jobs of steps.
func stepIDs(steps []jobs.MemberEnd) []int64 {
	ids := make([]int64, len(steps))
	for i, s := range steps {
		ids[i] = s.JobID
	}
	return ids
}

// free locks what the end of a run changes beside it: its job, which is locked before runs elsewhere, and the run that it is
// a step of, of which many may end at once, or the cycles that it may be a member of. If another transaction has the job,
// this one is begun again, and if it has one of the others, or this is a transaction of the caller's, the end is put off.
func (c *Change) free(p *progress) (bool, error) {
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
	return c.lockIfFree("member_timing", "task_id", 0) // a transition that takes cycles further has this, and then locks runs
}

// lockIfFree locks a row unless another transaction has it. One that is not there is free.
func (c *Change) lockIfFree(table, key string, id int64) (free bool, err error) {
	query := `select ` + key + ` from belfry.` + table + ` where ` + key + ` = $1`
	_, has, err := base.First(c.Ctx, c.Tx, base.ScanInt, query+c.SQL.SkipLocked(table), id)
	if err != nil || has {
		return has, err
	}
	_, there, err := base.First(c.Ctx, c.Tx, base.ScanInt, query, id)
	return !there, err
}
