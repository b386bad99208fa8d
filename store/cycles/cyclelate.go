package cycles

import (
	"context"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/locks"
)

// EndLateCycles ends cycle runs that have exceeded their timeout. Their jobs fail, the running member is asked to end, and
// later members are skipped. Every node may call it at the same time.
func (s *Store) EndLateCycles(ctx context.Context) (out job.Promoted, err error) {
	err = s.write(ctx, "end late cycles", func(c *Change) error {
		out = job.Promoted{Now: c.Now}
		type late struct{ job, member int64 }
		runs, err := base.Collect(ctx, c.Tx, func(r base.Rows) (l late, err error) { return l, r.Scan(&l.job, &l.member) }, `
			select job_id, member_job
			from belfry.cycle_runs
			where deadline_at <= $1
			order by deadline_at
			limit $2 + 0`, base.Micros(c.Now), cycleBatch)
		if err != nil {
			return err
		}
		if err != nil || len(runs) == 0 {
			return err
		}
		if sure, err := c.Trusted(); err != nil || !sure {
			return err
		}
		// The job of a member is locked before its cycle, as by a transition that settles a member.
		var ids []int64
		for _, l := range runs {
			ids = append(ids, l.job)
			if l.member != 0 {
				ids = append(ids, l.member)
			}
		}
		rows, err := c.jobs().LockJobs(ids)
		if err != nil {
			return err
		}
		if err := locks.Cycles(c.Change); err != nil {
			return err
		}
		for _, l := range runs {
			for _, row := range rows {
				if row.ID != l.job {
					continue
				}
				ended, err := c.endLateCycle(row, l.member)
				if err != nil {
					return err
				}
				out.Jobs += ended
			}
		}
		return nil
	})
	return out, err
}

// endLateCycle ends a run unless it has advanced since it was found. In that case the next pass looks again.
func (c *Change) endLateCycle(row jobs.JobRow, member int64) (int, error) {
	run, found, err := base.First(c.Ctx, c.Tx, ScanRun, `select doc from belfry.cycle_runs where job_id = $1 and member_job = $2 and deadline_at <= $3`+c.SQL.ForUpdate("cycle_runs"), row.ID, member, base.Micros(c.Now))
	if err != nil || !found {
		return 0, err
	}
	run, settled := run.TimeOut(row.Timeout, c.Now)
	settled.DueAt = row.DueAt
	if err := c.s.Hooks.Tell(c, run, row.Job, settled); err != nil {
		return 0, err
	}
	return 1, c.jobs().End([]jobs.Ending{{Row: row, Settled: settled, Fin: job.Finish{Output: []byte(base.Text(run.Output(c.Now)))}}}, true)
}
