package postgres

import (
	"context"

	"github.com/belfry-run/belfry/store"
)

// Succeed is one statement. Each job's row is locked and, if that had to wait,
// looked at again: is the lease that it was found by newer than the last that
// ended? Whoever settled the attempt first has changed or removed that row.
//
// The deletes go by id and not by the place of a row: what was locked after a
// wait is a newer version, which this statement's view does not have, and a
// delete by its place would find nothing.
//
// The laterals with a limit are there for the planner: they can only be run
// from the batch, row by row, through the keys. Left to itself it may begin
// with leases, which it remembers as empty, and was seen to take 300 ms in
// place of 5.
func (d dialect) Succeed(ctx context.Context, tx store.Tx, rows []store.Success, now int64) ([]store.Succeeded, error) {
	from, args := d.Table(2, "t", store.BatchOf(rows))
	res, err := tx.Query(ctx, `
		with ended as materialized (
			select j.*, l.*, t.output, t.started_in, t.exit_code, t.signal, t.log_cut
			from `+from+`
			cross join lateral (
				select number, session, claimed_at, cancel_at
				from leases
				where job_id = t.job_id and number + 0 = t.lease
				limit 1) l
			cross join lateral (
				select *
				from jobs
				where id = t.job_id and lease < l.number
				limit 1
				for update) j),
		first as materialized (select ended.session as id, (select s.name from sessions s where s.id = ended.session) as name from ended limit 1),
		gone as (delete from jobs where id = any (array(select id from ended))),
		freed as (delete from leases where job_id = any (array(select id from ended)))
		insert into jobs_done (`+store.DoneColumns+`)
		select id, namespace, task_id, task, kind, queue, priority, 'succeeded', '', '', '', input, tags, origin,
			schedule, schedule_id, generation, nominal, due_at, created_at, claimed_at, cancel_at,
			attempt + 1, failures, snoozes, max_attempts, timeout, number, session, active_key, idem_key, $1, output,
			'ok', coalesce(case when session = (select first.id from first) then (select first.name from first) else (select s.name from sessions s where s.id = ended.session) end, ''),
			case when started_in > 0 then least(claimed_at + started_in, $1) else 0 end, exit_code, signal, log_cut, infra
		from ended
		returning `+store.SucceededColumns, append([]any{now}, args...)...)
	if err != nil {
		return nil, err
	}
	return store.ScanSucceeded(res)
}
