package schedules

import (
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/locks"
)

// Follow decides what follows for a schedule from the end of one of its jobs. That is the next run of a rule that counts from
// the finish, a buffered run, or the completion of the schedule.
func (c *Change) Follow(ids []int64) error {
	if err := c.s.bounds.In(c.Change).Clear("schedules", ids); err != nil || len(ids) == 0 {
		return err
	}
	// The schedules are locked before the decision whether anything follows. A concurrent pause, resume or edit then either
	// sees that the job has ended, or is seen here. With an earlier look, each side could leave the next run to the other, and
	// the loop would stop for ever.
	if err := (locks.Rows{Table: "schedules", Key: "id", Where: c.SQL.In("id", 1), Of: c.SQL.List(ids)}).NowIfBackwards(c.Change); err != nil {
		return err
	}
	rows, err := base.Collect(c.Ctx, c.Tx, ScanSchedule, `
		select `+ScheduleColumns+`
		from belfry.schedules s
		where `+c.SQL.In("s.id", 1)+`
		order by s.id`+c.SQL.ForUpdate("s"), c.SQL.List(ids))
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r ScheduleRow) bool {
		return r.State != schedule.Active || !concernedByEnd(r.Schedule)
	})
	if len(rows) == 0 {
		return nil
	}
	facts, err := c.Facts(rows)
	if err != nil {
		return err
	}
	all := make([]Decided, 0, len(rows))
	for _, r := range rows {
		plan, err := c.s.PlanOf(c.Ctx, c.Tx, r.Schedule)
		if err != nil { // the job has ended all the same
			if err := c.postpone(r, err); err != nil {
				return err
			}
			continue
		}
		all = append(all, Decided{Row: r, Out: schedule.Ended(r.Schedule, plan, facts[r.ID], c.Now)})
	}
	return c.applyFirings(all)
}

func concernedByEnd(s schedule.Schedule) bool {
	switch s.Overlap {
	case schedule.OverlapBufferOne, schedule.OverlapBufferAll, schedule.OverlapCancelOther:
		return true
	}
	return fromFinish(s) || s.MaxRuns > 0
}

// withdrawOf withdraws the waiting runs of a schedule: jobs that have not started, and buffered occurrences.
func (c *Change) withdrawOf(row ScheduleRow, reason core.Reason, note string) error {
	ends := leftovers.Left{Kind: leftovers.Withdrawn, Owner: leftovers.ScheduleOwner(row.ID), Reason: reason, Note: note}
	if err := c.s.leftovers.In(c.Change).Follow(ends); err != nil {
		return err
	}
	_, err := c.Tx.Exec(c.Ctx, `
		update belfry.occurrences
		set decision = 'skipped', reason = $2, note = $3, decided_at = $4
		where schedule_id = $1 and decision = 'buffered'`, row.ID, string(reason), note, base.Micros(c.Now))
	return err
}
