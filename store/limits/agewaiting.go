package limits

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// agedKeyJob is the new priority of a job that waits under a key, as a row of a batch.
type agedKeyJob struct {
	KeyID    int64 `json:"key_id"`
	JobID    int64 `json:"job_id"`
	Priority int   `json:"priority"`
	Aged     int   `json:"aged"`
}

// agedWaiting reads the jobs of a queue that wait for a limit and should be raised. Jobs of a sequence are not raised: they
// are admitted in the order of their ids.
func (s *Store) agedWaiting(ctx context.Context, q job.Queue, from agePosition, now time.Time) (all []agedKeyJob, to agePosition, err error) {
	seen := 0
	err = s.readByIndex(ctx, func(tx base.Tx) error {
		_, err := base.Collect(ctx, tx, func(rows base.Rows) (none struct{}, err error) {
			var l agedKeyJob
			var stands, priority, aged, above, best int
			var dueAt, createdAt, strict int64
			if err := rows.Scan(&l.KeyID, &l.JobID, &stands, &priority, &aged, &dueAt, &createdAt, &above, &best, &strict); err != nil {
				return none, err
			}
			if seen++; len(all) == ageBatch {
				return none, nil
			}
			to.waiting = l.JobID
			given := priority - aged
			l.Aged = raised(q, stands, stands-given, above, best, now.Sub(waitingSince(0, dueAt, createdAt)))
			if l.Priority = given + l.Aged; l.Priority > stands && strict == 0 {
				all = append(all, l)
			}
			return none, nil
		}, `
			select l.key_id, l.job_id, l.priority, s.priority, s.aged, s.due_at, s.created_at,
				coalesce((select w.priority from belfry.limit_jobs w where w.key_id = l.key_id and w.stage = 1 and w.priority > l.priority order by w.priority limit 1), l.priority),
				coalesce((select w.priority from belfry.limit_jobs w where w.key_id = l.key_id and w.stage = 1 order by w.priority desc limit 1), l.priority),
				coalesce((select case when k.name = '`+flow.SequenceGateName+`' then 1 else 0 end from belfry.limit_keys k where k.id = l.key_id), 0)
			from (
				select id, priority, aged, due_at, created_at
				from belfry.jobs
				where queue = $1 and state = 'waiting' and reason = '`+string(Reason)+`' and id > $2
				order by id
				limit $3 + 0) as s
			cross join belfry.limit_jobs l
			where l.job_id = s.id and l.stage = 1
			order by s.id`, q.Name, from.waiting, ageLook)
		return err
	})
	if seen < ageLook && len(all) < ageBatch {
		to = agePosition{}
	}
	return all, to, err
}

// raiseWaiting raises jobs that wait for a limit. It leaves out jobs that another transaction is changing or admitting.
func (s *Store) raiseWaiting(ctx context.Context, all []agedKeyJob) error {
	if len(all) == 0 {
		return nil
	}
	jobs, keys := make([]int64, len(all)), make([]int64, len(all))
	for i, l := range all {
		jobs[i], keys[i] = l.JobID, l.KeyID
	}
	return s.Write(ctx, "age", func(b *base.Change) error {
		c := s.In(b)
		held, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.jobs
			where `+c.SQL.In("id", 1)+` and state = 'waiting' and limited = 1
			order by id`+c.SQL.SkipLocked("jobs"), c.SQL.List(base.Unique(jobs)))
		if err != nil || len(held) == 0 {
			return err
		}
		locked, err := base.Collect(ctx, c.Tx, base.ScanInt, `
			select id
			from belfry.limit_keys
			where `+c.SQL.In("id", 1)+`
			order by id`+c.SQL.SkipLocked("limit_keys"), c.SQL.List(base.Unique(keys)))
		if err != nil {
			return err
		}
		all := slices.DeleteFunc(slices.Clone(all), func(l agedKeyJob) bool {
			return !slices.Contains(held, l.JobID) || !slices.Contains(locked, l.KeyID)
		})
		if len(all) == 0 {
			return nil
		}
		return saveWaiting(c, all)
	})
}

// saveWaiting writes the raised priorities of waiting jobs, in their keys and in the jobs.
func saveWaiting(c *Change, all []agedKeyJob) error {
	slices.SortFunc(all, func(a, b agedKeyJob) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.KeyID, b.KeyID))
	})
	from, args := c.SQL.ManyTable(2, "t", base.BatchOf(all))
	rows, ids := make([]agedRow, len(all)), make([]int64, len(all))
	for i, l := range all {
		ids[i], rows[i] = l.JobID, agedRow{ID: l.JobID, Priority: l.Priority, Aged: l.Aged}
	}
	if _, err := c.Tx.Exec(c.Ctx, `
		update belfry.limit_jobs
		set priority = case when stage = 1 and t.priority > belfry.limit_jobs.priority then t.priority else belfry.limit_jobs.priority end
		from `+from+`
		where belfry.limit_jobs.job_id = t.job_id and belfry.limit_jobs.key_id = t.key_id
			and `+c.SQL.Among("belfry.limit_jobs.job_id", 1), append([]any{c.SQL.List(ids)}, args...)...); err != nil {
		return err
	}
	return c.saveAged(rows, ``)
}
