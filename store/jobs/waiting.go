package jobs

import (
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// A worker that claims ahead of its free slots keeps jobs that have not begun. If
// it is lost, they must not be charged for that, and the store cannot ask. So a
// lease says whether it was given ahead, until a renewal says that the job has
// begun; and a job for which not to know would matter is never claimed ahead
// ([job.Job.MayWait]).

// spare is how many of the jobs of a claim, in their order, may be leased when so
// many of them have a slot: all up to the first behind these that must not wait.
// Not to step over that one keeps the order of a queue, and keeps jobs that may
// wait from being claimed for ever before it.
func (c *Change) spare(rows []JobRow, slots int) (int, error) {
	if len(rows) <= slots {
		return len(rows), nil
	}
	waiting := rows[slots:]
	ids := make([]int64, len(waiting))
	for i := range waiting {
		ids[i] = waiting[i].TaskID
	}
	tasks, err := c.tasks().TasksByID(ids)
	if err != nil {
		return 0, err
	}
	for i := range waiting {
		if !waiting[i].Job.MayWait(tasks[waiting[i].TaskID].Retry) {
			return slots + i, nil
		}
	}
	return len(rows), nil
}

// unlease takes back what this transaction has just leased.
func (c *Change) unlease(rows []JobRow) error {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	if err := c.SQL.Unpack(c.Ctx, c.Tx, base.Packed{Jobs: ids}); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `delete from belfry.leases where `+c.SQL.In("job_id", 1), c.SQL.List(ids))
	return err
}

// NoteBegun takes note of jobs that were claimed ahead and have begun. Nobody is
// waited for: a handler that settles its job in a transaction of its own may hold
// the lease for long, and a renewal must not take as long. A lease in a pack says
// so still, until the pack is taken apart.
func (c *Change) NoteBegun(session string, leased map[job.Ref]Held, holding []job.Holding) error {
	var begun []int64
	for _, h := range holding {
		if !h.Waiting && leased[h.Ref].ahead {
			begun = append(begun, h.JobID)
		}
	}
	if len(begun) == 0 {
		return nil
	}
	slices.Sort(begun)
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.leases
		set ahead = 0
		where job_id in (
			select job_id
			from belfry.leases
			where `+c.SQL.In("job_id", 1)+` and session = $2 and ahead = 1`+c.SQL.SkipLocked("leases")+`)`, c.SQL.List(begun), session)
	return err
}
