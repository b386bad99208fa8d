package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// fewSuccesses are looked for among the leases that have a row each before the
// packs are read, and more of them after: a claim of so few made no pack.
const fewSuccesses = 20

// Succeed ends jobs that are leased in a pack by one statement, and others by
// another. Packs are locked when all jobs are: see [dialect.Unpack].
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
	if len(packed) > 0 && len(packed)+len(single) > 1 { // each kind locks its jobs in order, and not both together
		if _, err := lockThere(ctx, tx, rows); err != nil {
			return nil, err
		}
	}
	// Few were looked for before, but a pack may have been taken apart since.
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

// numbered are packs with some numbers.
const numbered = `number = any ($1)`

// ForeseeSucceed asks for the packs. It may miss that one was taken apart before
// the jobs are locked, as any look at them before may.
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

// without leaves out what is done.
func without(rows []base.Success, done []base.Succeeded) []base.Success {
	refs := make(map[job.Ref]bool, len(done))
	for _, s := range done {
		refs[s.Ref] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r base.Success) bool { return refs[job.Ref{JobID: r.JobID, Lease: r.Lease}] })
}

// packedSuccess is a success of a job in a pack, as a batch carries it. Fields that
// are null in all of them do not travel.
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

// packedSuccesses are those of one session.
type packedSuccesses struct {
	session string
	rows    []packedSuccess
	of      []base.Success
}

// unpacked tells what is leased in a pack from the rest, and leaves out what
// another session has in one.
func unpacked(ctx context.Context, tx base.Tx, session string, rows []base.Success) (packed []packedSuccesses, single []base.Success, err error) {
	packs, err := packsWith(ctx, tx, idsOf(rows), numbered, jobs.LeasesOf(rows))
	if err != nil || len(packs) == 0 {
		return nil, rows, err
	}
	last := int64(0) // of those in packs
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

// unless is null for the zero value.
func unless[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return new(v) // and not &v, which would take memory for the nil as well
}

// movedColumns are what the history takes over from a job. To hold the others
// as well took a thirtieth of a settle.
const movedColumns = `id, namespace, task_id, task, kind, queue, priority - aged as priority, input, tags, trigger, schedule, schedule_id, generation, nominal,
	due_at, created_at, attempt, failures, snoozes, max_attempts, timeout, active_key, idem_key, infra, limited`

// succeedPacked needs no look at a lease: that a pack had the job was seen, a
// lease leaves together with a change or the removal of its job's row, and that
// row is looked at under its lock. Its last lease that ended is older than all
// of these if it has not been changed since; a job that was tried before, under
// a lease among these, is left out as well and is for the other statement.
//
// Ended jobs are added to done.
//
// A full join is the one way to say that neither side is to be walked for each
// row of the other: the planner takes both for ten rows. It hashes the side that
// it takes for the smaller one. Conditions that always hold make that the batch,
// whose rows are narrow, and not the jobs, all of which would be copied once more.
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
		if at++; at >= len(p.rows) || p.rows[at].JobID != s.Ref.JobID { // unless they come in the order of the batch
			at, _ = slices.BinarySearchFunc(p.rows, s.Ref.JobID, func(r packedSuccess, id int64) int { return cmp.Compare(r.JobID, id) })
		}
		s.Ref.Lease, s.ClaimedAt = p.rows[at].Lease, p.rows[at].ClaimedAt
		done = append(done, s)
	}
	return done, res.Err()
}

// leave counts jobs out of their packs. A pack that was taken apart meanwhile
// may have left rows of leases.
//
// A transaction that is not ours counts no job out: it may last, and all others
// that end a job of the claim would wait for it. The next renewal finds the pack
// with less in it than it says.
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

// unlease removes the rows that leases of some numbers have by now.
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

// lockThere answers those whose jobs are there.
func lockThere(ctx context.Context, tx base.Tx, rows []base.Success) ([]base.Success, error) {
	res, err := tx.Query(ctx, `select id from belfry.jobs where id = any ($1) order by id for update`, idsOf(rows))
	if err != nil {
		return nil, err
	}
	there, err := scanNumbers(res)
	return slices.DeleteFunc(rows, func(r base.Success) bool { return !slices.Contains(there, r.JobID) }), err
}

// succeedSingle is one statement. Each job's row is locked and, if that had to wait,
// looked at again: is the lease that it was found by newer than the last that
// ended? The transition that settled the attempt first has changed or removed that row.
//
// The deletes go by id and not by the place of a row: what was locked after a
// wait is a newer version, which this statement's view does not have, and a
// delete by its place would find nothing.
//
// The laterals with a limit are there for the planner: they can only be run
// from the batch, row by row, through the keys. Left to itself it may begin
// with leases, which it remembers as empty, and was seen to take 300 ms in
// place of 5.
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
