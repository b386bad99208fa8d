package sqlite

import (
	"context"

	"github.com/belfry-run/belfry/store"
)

// Succeed is three statements: SQLite cannot move a row in one. With one
// writer nothing can come between them.
func (d dialect) Succeed(ctx context.Context, tx store.Tx, rows []store.Success, now int64) ([]store.Succeeded, error) {
	return succeed(ctx, d, tx, rows, now)
}

func succeed(ctx context.Context, d store.Dialect, tx store.Tx, rows []store.Success, now int64) ([]store.Succeeded, error) {
	from, args := d.Table(2, "t", store.BatchOf(rows))
	res, err := tx.Query(ctx, `
		insert into jobs_done (`+store.DoneColumns+`)
		select j.id, j.namespace, j.task_id, j.task, j.kind, j.queue, j.priority, 'succeeded', '', '', '', j.input, j.tags, j.origin,
			j.schedule, j.schedule_id, j.generation, j.nominal, j.due_at, j.created_at, l.claimed_at, l.cancel_at,
			j.attempt + 1, j.failures, j.snoozes, j.max_attempts, j.timeout, l.number, l.session, j.active_key, j.idem_key, $1, t.output,
			'ok', coalesce((select s.name from sessions s where s.id = l.session), ''), case when t.started_in > 0 then min(l.claimed_at + t.started_in, $1) else 0 end, t.exit_code, t.signal, t.log_cut, j.infra
		from `+from+`
		cross join leases l on l.job_id = t.job_id and l.number = t.lease
		cross join jobs j on j.id = l.job_id
		returning `+store.SucceededColumns, append([]any{now}, args...)...)
	if err != nil {
		return nil, err
	}
	done, err := store.ScanSucceeded(res)
	if err != nil || len(done) == 0 {
		return nil, err
	}
	ids := make([]int64, len(done))
	for i, s := range done {
		ids[i] = s.Ref.JobID
	}
	if _, err := tx.Exec(ctx, `delete from jobs where `+d.In("id", 1), d.List(ids)); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `delete from leases where `+d.In("job_id", 1), d.List(ids))
	return done, err
}
