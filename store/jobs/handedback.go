package jobs

import "github.com/belfry-run/belfry/job"

// maxHandedBack is the number of kept attempts of a job that were handed back. Only their number has no other limit.
const maxHandedBack = 100

// forgetHandedBack deletes the oldest attempts that were handed back, beyond [maxHandedBack] of each of the jobs.
func forgetHandedBack(c *Change, rows []endRow) error {
	var ids []int64
	for _, r := range rows {
		if r.Outcome == string(job.OutcomeHandedBack) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := c.Tx.Exec(c.Ctx, `
		delete from belfry.attempts
		where `+c.SQL.In("job_id", 1)+` and (job_id, lease) in (
			select job_id, lease
			from (
				select a.job_id, a.lease, row_number() over (partition by a.job_id order by a.lease desc) as n
				from belfry.attempts a
				where `+c.SQL.In("a.job_id", 1)+` and a.outcome = 'handed_back') newest
			where n > $2)`, c.SQL.List(ids), maxHandedBack)
	return err
}
