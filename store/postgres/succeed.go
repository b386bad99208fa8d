package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// Fewer than fewSuccesses successes are first looked up among the leases with a row each, before the packs are read: a claim of
// so few jobs made no pack.
const fewSuccesses = 20

// Succeed ends jobs that are leased in a pack with one statement, and others with another one. Packs are locked after all jobs:
// see [dialect.Unpack].
func (d dialect) Succeed(ctx context.Context, tx base.Tx, session string, rows []base.Success, now int64) (done []base.Succeeded, err error) {
	if len(rows) < fewSuccesses {
		if done, err = d.succeedSingle(ctx, tx, session, rows, now); err != nil || len(done) == len(rows) {
			return done, err
		}
		rows = without(rows, done)
	}
	packed, single, err := unpacked(ctx, tx, session, rows)
	if err != nil {
		return nil, err
	}
	if len(packed) > 0 && len(packed)+len(single) > 1 { // each statement locks its jobs in order, but the two together do not
		if _, err := lockThere(ctx, tx, rows); err != nil {
			return nil, err
		}
	}
	// A few were looked up before, but a pack may have been split since.
	ended, err := d.succeedSingle(ctx, tx, session, single, now)
	if err != nil {
		return nil, err
	}
	done = slices.Grow(append(done, ended...), len(rows)-len(single))
	alone := len(done)
	var left []base.Success
	for _, p := range packed {
		before := len(done)
		if done, err = d.succeedPacked(ctx, tx, p, now, done); err != nil {
			return nil, err
		}
		if ended := done[before:]; len(ended) < len(p.rows) {
			there, err := lockThere(ctx, tx, without(p.of, ended))
			if err != nil {
				return nil, err
			}
			left = append(left, there...)
		}
	}
	if err := d.leave(ctx, tx, done[alone:], now); err != nil || len(left) == 0 {
		return done, err
	}
	if err := d.Unpack(ctx, tx, base.Packed{Jobs: idsOf(left)}); err != nil {
		return nil, err
	}
	ended, err = d.succeedSingle(ctx, tx, session, left, now)
	return append(done, ended...), err
}

// numbered selects packs by number.
const numbered = `number = any ($1)`

// ForeseeSucceed queries the packs ahead. A pack may be split before the jobs are locked, as after any earlier read.
func (dialect) ForeseeSucceed(ctx context.Context, tx base.Tx, n int, leases []int64) {
	if n >= fewSuccesses {
		_, _ = tx.Query(ctx, selectPacks(`jobs`, numbered), leases)
	}
}

func idsOf(rows []base.Success) []int64 {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.JobID
	}
	return ids
}

// without removes the successes that are done.
func without(rows []base.Success, done []base.Succeeded) []base.Success {
	refs := make(map[job.Ref]bool, len(done))
	for _, s := range done {
		refs[s.Ref] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r base.Success) bool { return refs[job.Ref{JobID: r.JobID, Lease: r.Lease}] })
}

// packedSuccess is a success of a job in a pack, in a batch. Fields that are null in all rows are not sent.
type packedSuccess struct {
	JobID     int64   `json:"job_id"`
	Lease     int64   `json:"lease"`
	ClaimedAt int64   `json:"claimed_at"`
	Output    *string `json:"output"`
	StartedIn int64   `json:"started_in"`
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
	LogCut    *int    `json:"log_cut"`
}

// packedSuccesses are the successes of one session.
type packedSuccesses struct {
	session string
	rows    []packedSuccess
	of      []base.Success
}

// unpacked separates jobs leased in a pack from the rest, and leaves out jobs in packs of another session.
func unpacked(ctx context.Context, tx base.Tx, session string, rows []base.Success) (packed []packedSuccesses, single []base.Success, err error) {
	packs, err := packsWith(ctx, tx, idsOf(rows), numbered, jobs.LeasesOf(rows))
	if err != nil || len(packs) == 0 {
		return nil, rows, err
	}
	last := int64(0) // the last job in a pack
	for _, r := range rows {
		i := slices.IndexFunc(packs, func(p pack) bool { return p.number == r.Lease })
		if i < 0 || last == r.JobID || !packs[i].has(r.JobID) {
			single = append(single, r)
			continue
		}
		last = r.JobID
		p := packs[i]
		if session != "" && p.session != session {
			continue
		}
		k := slices.IndexFunc(packed, func(s packedSuccesses) bool { return s.session == p.session })
		if k < 0 {
			k = len(packed)
			packed = append(packed, packedSuccesses{p.session, make([]packedSuccess, 0, len(rows)), make([]base.Success, 0, len(rows))})
		}
		packed[k].rows = append(packed[k].rows, packedSuccess{r.JobID, r.Lease, p.claimedAt, r.Output, r.StartedIn, r.ExitCode, unless(r.Signal), unless(r.LogCut)})
		packed[k].of = append(packed[k].of, r)
	}
	return packed, single, nil
}

// unless returns nil for the zero value.
func unless[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return new(v) // &v would allocate memory for nil as well
}

// movedColumns are the columns that the history copies from a job. Copying the others too took a thirtieth of a settle.
const movedColumns = `id, namespace, task_id, task, kind, queue, priority - aged as priority, input, tags, trigger, schedule, schedule_id, generation, nominal,
	due_at, created_at, attempt, failures, snoozes, max_attempts, timeout, active_key, idem_key, infra, limited`

// succeedPacked does not look at leases. The pack was seen to have the job. A lease ends only with a change or the removal of
// its job's row, and that row is checked under its lock. If the row is unchanged, its last ended lease is older than all of
// these. A job that was tried before under one of these leases is left to the other statement.
//
// Ended jobs are added to done.
//
// Only a full join makes the planner walk neither side for each row of the other, because it estimates both as ten rows. It
// hashes the side that it estimates as smaller. Conditions that always hold make that the batch, which has narrow rows. The
// rows of the jobs would be copied once more.
func (d dialect) succeedPacked(ctx context.Context, tx base.Tx, p packedSuccesses, now int64, done []base.Succeeded) ([]base.Succeeded, error) {
	oldest := p.rows[0].Lease
	for _, r := range p.rows {
		oldest = min(oldest, r.Lease)
	}
	from, args := d.Table(4, "t", base.BatchOf(p.rows))
	res, err := tx.Query(ctx, `
		with gone as (delete from belfry.jobs where id = any ($4) and lease < $3 returning `+movedColumns+`)
		insert into belfry.jobs_done (`+jobs.DoneColumns+`)
		select id, namespace, task_id, task, kind, queue, priority, 'succeeded', '', '', '', input, tags, trigger,
			schedule, schedule_id, generation, nominal, due_at, created_at, t.claimed_at, 0,
			attempt + 1, failures, snoozes, max_attempts, timeout, t.lease, $2, active_key, idem_key, $1, t.output,
			'ok', coalesce((select s.name from belfry.sessions s where s.id = $2), ''),
			case when t.started_in > 0 then least(t.claimed_at + t.started_in, $1) else 0 end, t.exit_code, coalesce(t.signal, ''), coalesce(t.log_cut, 0), infra, limited
		from gone
		full join (select * from `+from+` where t.job_id > 0 and t.lease > 0 and t.claimed_at > 0) as t on t.job_id = gone.id
		where coalesce(gone.id, 0) > 0
		returning id, queue, limited`, append([]any{now, p.session, oldest}, args...)...)
	if err != nil {
		return nil, err
	}
	defer res.Close()
	s, at := base.Succeeded{Trigger: job.TriggerEnqueue}, -1
	for res.Next() {
		if err := res.Scan(&s.Ref.JobID, &s.Queue, &s.Limited); err != nil {
			return nil, err
		}
		if at++; at >= len(p.rows) || p.rows[at].JobID != s.Ref.JobID { // usually they come in the order of the batch
			at, _ = slices.BinarySearchFunc(p.rows, s.Ref.JobID, func(r packedSuccess, id int64) int { return cmp.Compare(r.JobID, id) })
		}
		s.Ref.Lease, s.ClaimedAt = p.rows[at].Lease, p.rows[at].ClaimedAt
		done = append(done, s)
	}
	return done, res.Err()
}

// leave subtracts jobs from their packs. A pack that was split meanwhile may have left rows of leases.
//
// A caller's transaction subtracts nothing: it may last long, and all others that end a job of the claim would wait for it. The
// next renewal finds that the pack holds fewer jobs than it says.
func (d dialect) leave(ctx context.Context, tx base.Tx, done []base.Succeeded, now int64) error {
	if len(done) == 0 {
		return nil
	}
	var numbers, counts []int64
	for _, s := range done {
		i := slices.Index(numbers, s.Ref.Lease)
		if i < 0 {
			i = len(numbers)
			numbers, counts = append(numbers, s.Ref.Lease), append(counts, 0)
		}
		counts[i]++
	}
	if d.adopted {
		return unlease(ctx, tx, done, numbers, now)
	}
	rows, err := tx.Query(ctx, `
		update belfry.packs
		set living = belfry.packs.living - locked.jobs
		from (
			select p.number, t.jobs
			from belfry.packs p
			join unnest($1::bigint[], $2::bigint[]) as t (number, jobs) on t.number = p.number
			where p.number = any ($1)
			order by p.number
			for update of p) locked
		where belfry.packs.number = locked.number and belfry.packs.number = any ($1)
		returning belfry.packs.number, belfry.packs.living`, numbers, counts)
	if err != nil {
		return err
	}
	var empty []int64
	gone := numbers
	for rows.Next() {
		var number, living int64
		if err := rows.Scan(&number, &living); err != nil {
			rows.Close()
			return err
		}
		gone = slices.DeleteFunc(slices.Clone(gone), func(n int64) bool { return n == number })
		if living <= 0 {
			empty = append(empty, number)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return err
	}
	if len(empty) > 0 {
		if err := base.ExecSoon(ctx, tx, `delete from belfry.packs where number = any ($1)`, empty); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return unlease(ctx, tx, done, gone, now)
}

// unlease deletes the rows of leases with some numbers.
func unlease(ctx context.Context, tx base.Tx, done []base.Succeeded, numbers []int64, now int64) error {
	var ids []int64
	for _, s := range done {
		if slices.Contains(numbers, s.Ref.Lease) {
			ids = append(ids, s.Ref.JobID)
		}
	}
	_, err := tx.Exec(ctx, `
		with freed as (delete from belfry.leases where job_id = any ($1) returning job_id, cancel_at)
		update belfry.jobs_done
		set cancel_at = freed.cancel_at -- its end was asked for, which is why there was a row
		from freed
		where freed.cancel_at > 0 and id = freed.job_id and finished_at = $2 and id = any ($1)`, ids, now)
	return err
}

// lockThere locks the jobs, and returns the successes whose jobs exist.
func lockThere(ctx context.Context, tx base.Tx, rows []base.Success) ([]base.Success, error) {
	res, err := tx.Query(ctx, `select id from belfry.jobs where id = any ($1) order by id for update`, idsOf(rows))
	if err != nil {
		return nil, err
	}
	there, err := scanNumbers(res)
	return slices.DeleteFunc(rows, func(r base.Success) bool { return !slices.Contains(there, r.JobID) }), err
}

// succeedSingle is one statement. It locks the row of each job. After a wait it checks the row again: the lease that was found
// must be newer than the last ended one. Otherwise another transition settled the attempt first, and has changed or removed the
// row.
//
// The deletes use the id, not the physical position of a row. A row locked after a wait has a newer version, which is not in
// the statement's snapshot, and a delete by position would find nothing.
//
// The laterals with a limit force the planner to start from the batch and look up row by row, by key. Otherwise it may start
// with leases, whose statistics say empty, which was seen to take 300 ms instead of 5.
func (d dialect) succeedSingle(ctx context.Context, tx base.Tx, session string, rows []base.Success, now int64) ([]base.Succeeded, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	from, args := d.Table(3, "t", base.BatchOf(rows))
	res, err := tx.Query(ctx, `
		with ended as materialized (
			select j.*, l.*, t.output, t.started_in, t.exit_code, t.signal, t.log_cut
			from `+from+`
			cross join lateral (
				select number, session, claimed_at, cancel_at
				from belfry.leases
				where job_id = t.job_id and number + 0 = t.lease and (session = $2 or $2 = '')
				limit 1) l
			cross join lateral (
				select *
				from belfry.jobs
				where id = t.job_id and lease < l.number
				limit 1
				for update) j),
		first as materialized (select ended.session as id, (select s.name from belfry.sessions s where s.id = ended.session) as name from ended limit 1),
		gone as (delete from belfry.jobs where id = any (array(select id from ended))),
		freed as (delete from belfry.leases where job_id = any (array(select id from ended)))
		insert into belfry.jobs_done (`+jobs.DoneColumns+`)
		select id, namespace, task_id, task, kind, queue, priority - aged, 'succeeded', '', '', '', input, tags, trigger,
			schedule, schedule_id, generation, nominal, due_at, created_at, claimed_at, cancel_at,
			attempt + 1, failures, snoozes, max_attempts, timeout, number, session, active_key, idem_key, $1, output,
			'ok', coalesce(case when session = (select first.id from first) then (select first.name from first) else (select s.name from belfry.sessions s where s.id = ended.session) end, ''),
			case when started_in > 0 then least(claimed_at + started_in, $1) else 0 end, exit_code, signal, log_cut, infra, limited
		from ended
		returning `+jobs.SucceededColumns, append([]any{now, session}, args...)...)
	if err != nil {
		return nil, err
	}
	return jobs.ScanSucceeded(res)
}
