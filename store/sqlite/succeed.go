package sqlite

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// Succeed uses several statements, because SQLite cannot move a row in one. With one writer nothing can come between them.
func (d dialect) Succeed(ctx context.Context, tx base.Tx, session string, rows []base.Success, now int64) ([]base.Succeeded, error) {
	return succeed(ctx, d, tx, session, rows, now)
}

// ForeseeSucceed does nothing: the database is in this process.
func (d dialect) ForeseeSucceed(context.Context, base.Tx, int, []int64) {}

func succeed(ctx context.Context, d base.Dialect, tx base.Tx, session string, rows []base.Success, now int64) (done []base.Succeeded, err error) {
	packed, single, err := inPacks(ctx, d, tx, session, rows)
	if err != nil {
		return nil, err
	}
	for _, of := range packed {
		ended, err := succeedPacked(ctx, d, tx, of, now)
		if err != nil {
			return nil, err
		}
		done = append(done, ended...)
	}
	if len(single) == 0 {
		return done, nil
	}
	ended, err := succeedSingle(ctx, d, tx, session, single, now)
	return append(done, ended...), err
}

func succeedSingle(ctx context.Context, d base.Dialect, tx base.Tx, session string, rows []base.Success, now int64) ([]base.Succeeded, error) {
	from, args := d.Table(3, "t", base.BatchOf(rows))
	res, err := tx.Query(ctx, `
		insert into belfry.jobs_done (`+jobs.DoneColumns+`)
		select j.id, j.namespace, j.task_id, j.task, j.kind, j.queue, j.priority - j.aged, 'succeeded', '', '', '', j.input, j.tags, j.trigger,
			j.schedule, j.schedule_id, j.generation, j.nominal, j.due_at, j.created_at, l.claimed_at, l.cancel_at,
			j.attempt + 1, j.failures, j.snoozes, j.max_attempts, j.timeout, l.number, l.session, j.active_key, j.idem_key, $1, t.output,
			'ok', coalesce((select s.name from belfry.sessions s where s.id = l.session), ''), case when t.started_in > 0 then min(l.claimed_at + t.started_in, $1) else 0 end, t.exit_code, t.signal, t.log_cut, j.infra, j.limited
		from `+from+`
		cross join belfry.leases l on l.job_id = t.job_id and l.number = t.lease and (l.session = $2 or $2 = '')
		cross join belfry.jobs j on j.id = l.job_id
		returning `+jobs.SucceededColumns, append([]any{now, session}, args...)...)
	if err != nil {
		return nil, err
	}
	done, err := jobs.ScanSucceeded(res)
	if err != nil || len(done) == 0 {
		return nil, err
	}
	ids := jobIDs(done)
	if err := deleteJobs(ctx, d, tx, ids); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `delete from belfry.leases where `+d.In("job_id", 1), d.List(ids))
	return done, err
}

// packedSuccess is a success of a job in a pack, in a batch.
type packedSuccess struct {
	JobID     int64   `json:"job_id"`
	Lease     int64   `json:"lease"`
	ClaimedAt int64   `json:"claimed_at"`
	Output    *string `json:"output"`
	StartedIn int64   `json:"started_in"`
	ExitCode  *int    `json:"exit_code"`
	Signal    string  `json:"signal"`
	LogCut    int     `json:"log_cut"`
}

// packedSuccesses are the successes of one session, with what is already known of them.
type packedSuccesses struct {
	session string
	packs   []pack
	rows    []packedSuccess
	done    []base.Succeeded
}

// inPacks separates jobs leased in a pack from the rest, and leaves out jobs in packs of another session.
func inPacks(ctx context.Context, d base.Dialect, tx base.Tx, session string, rows []base.Success) (packed []packedSuccesses, single []base.Success, err error) {
	packs, err := packsFrom(ctx, tx, `json_each($1) cross join belfry.packs on number = value`, d.List(jobs.LeasesOf(rows)))
	if err != nil || len(packs) == 0 {
		return nil, rows, err
	}
	for _, r := range rows {
		i := slices.IndexFunc(packs, func(p pack) bool { return p.number == r.Lease })
		if i < 0 || !packs[i].has(r.JobID) {
			single = append(single, r)
			continue
		}
		p := packs[i]
		if session != "" && p.session != session {
			continue
		}
		k := slices.IndexFunc(packed, func(of packedSuccesses) bool { return of.session == p.session })
		if k < 0 {
			k = len(packed)
			packed = append(packed, packedSuccesses{session: p.session, packs: packs, rows: make([]packedSuccess, 0, len(rows)), done: make([]base.Succeeded, 0, len(rows))})
		}
		of := &packed[k]
		of.rows = append(of.rows, packedSuccess{r.JobID, r.Lease, p.claimedAt, r.Output, r.StartedIn, r.ExitCode, r.Signal, r.LogCut})
		of.done = append(of.done, base.Succeeded{Ref: job.Ref{JobID: r.JobID, Lease: r.Lease}, Queue: p.queue, Trigger: job.TriggerEnqueue, ClaimedAt: p.claimedAt, Limited: p.limited})
	}
	return packed, single, nil
}

// succeedPacked reads nothing back: all consequences of a success are known from the packs. A job of a pack is running as long
// as its row exists.
func succeedPacked(ctx context.Context, d base.Dialect, tx base.Tx, of packedSuccesses, now int64) ([]base.Succeeded, error) {
	from, args := d.Table(3, "t", base.BatchOf(of.rows))
	n, err := tx.Exec(ctx, `
		insert into belfry.jobs_done (`+jobs.DoneColumns+`)
		select j.id, j.namespace, j.task_id, j.task, j.kind, j.queue, j.priority - j.aged, 'succeeded', '', '', '', j.input, j.tags, j.trigger,
			j.schedule, j.schedule_id, j.generation, j.nominal, j.due_at, j.created_at, t.claimed_at, 0,
			j.attempt + 1, j.failures, j.snoozes, j.max_attempts, j.timeout, t.lease, $2, j.active_key, j.idem_key, $1, t.output,
			'ok', coalesce((select s.name from belfry.sessions s where s.id = $2), ''), case when t.started_in > 0 then min(t.claimed_at + t.started_in, $1) else 0 end, t.exit_code, t.signal, t.log_cut, j.infra, j.limited
		from `+from+`
		cross join belfry.jobs j on j.id = t.job_id`, append([]any{now, of.session}, args...)...)
	if err != nil {
		return nil, err
	}
	done, ids := of.done, jobIDs(of.done)
	if int(n) < len(done) { // some succeeded before
		if done, err = there(ctx, d, tx, done); err != nil || len(done) == 0 {
			return nil, err
		}
		ids = jobIDs(done)
	}
	if err := deleteJobs(ctx, d, tx, ids); err != nil {
		return nil, err
	}
	return done, leave(ctx, tx, of.packs, done)
}

// deleteJobs deletes jobs from the live ones. The jobs of one claim mostly end in the order of their ids. A range is deleted
// during one walk, and a list only after a first walk: a range takes three quarters of the time.
func deleteJobs(ctx context.Context, d base.Dialect, tx base.Tx, ids []int64) error {
	var runs [][2]int64
	for _, id := range ids {
		if k := len(runs) - 1; k >= 0 && id == runs[k][1]+1 {
			runs[k][1] = id
		} else {
			runs = append(runs, [2]int64{id, id})
		}
	}
	if len(runs)*longRun > len(ids) {
		_, err := tx.Exec(ctx, `delete from belfry.jobs where `+d.In("id", 1), d.List(ids))
		return err
	}
	for _, run := range runs {
		if _, err := tx.Exec(ctx, `delete from belfry.jobs where id between $1 and $2`, run[0], run[1]); err != nil {
			return err
		}
	}
	return nil
}

// longRun is the length from which a run pays for a statement of its own.
const longRun = 10

// there returns the successes whose jobs exist.
func there(ctx context.Context, d base.Dialect, tx base.Tx, all []base.Succeeded) ([]base.Succeeded, error) {
	rows, err := tx.Query(ctx, `select id from belfry.jobs where `+d.In("id", 1), d.List(jobIDs(all)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	live := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		live[id] = true
	}
	return slices.DeleteFunc(all, func(s base.Succeeded) bool { return !live[s.Ref.JobID] }), rows.Err()
}

// leave subtracts jobs from their packs.
func leave(ctx context.Context, tx base.Tx, packs []pack, done []base.Succeeded) error {
	for _, p := range packs {
		n := 0
		for i := range done {
			if done[i].Ref.Lease == p.number {
				n++
			}
		}
		var err error
		switch {
		case n == 0:
		case n < p.living:
			_, err = tx.Exec(ctx, `update belfry.packs set living = living - $2 where number = $1`, p.number, n)
		default:
			_, err = tx.Exec(ctx, `delete from belfry.packs where number = $1`, p.number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func jobIDs(done []base.Succeeded) []int64 {
	ids := make([]int64, len(done))
	for i := range done {
		ids[i] = done[i].Ref.JobID
	}
	return ids
}
