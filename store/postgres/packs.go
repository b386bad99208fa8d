package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/store/base"
)

// pack is a row of packs: the leases of one claim.
type pack struct {
	number    int64
	session   string
	claimedAt int64
	jobs      []int64
}

func (p pack) has(job int64) bool {
	_, found := slices.BinarySearch(p.jobs, job)
	return found
}

func scanPacks(rows base.Rows) (all []pack, err error) {
	defer rows.Close()
	for rows.Next() {
		var p pack
		if err := rows.Scan(&p.number, &p.session, &p.claimedAt, &p.jobs); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

func selectPacks(jobs, cond string) string {
	return `select number, session, claimed_at, ` + jobs + ` from belfry.packs where ` + cond
}

// packsWith reads packs, and those of their jobs that are among jobs. For many jobs the lists are searched here, and for few in
// the database.
func packsWith(ctx context.Context, tx base.Tx, jobs []int64, cond string, args ...any) ([]pack, error) {
	list := `jobs`
	if len(jobs) < fewSuccesses {
		args = append(args, jobs)
		list = fmt.Sprintf(`array(select t.id from unnest($%d::bigint[]) as t (id) where t.id = any (belfry.packs.jobs) order by t.id)`, len(args))
	}
	rows, err := tx.Query(ctx, selectPacks(list, cond), args...)
	if err != nil {
		return nil, err
	}
	all, err := scanPacks(rows)
	return slices.DeleteFunc(all, func(p pack) bool { return !slices.ContainsFunc(jobs, p.has) }), err
}

// Unleased looks, for a job, at its own row of leases and at the packs whose range contains it. In the form of values these can
// only be planned as lookups by key. A single read of all packed jobs is excluded: the planner does not know their number.
func (dialect) Unleased(column string) string {
	return strings.ReplaceAll("(select number from belfry.leases where job_id = ?) is null and (select p.number from belfry.packs p where p.last_job >= ? and p.first_job <= ? and ? = any (p.jobs) limit 1) is null", "?", column)
}

// Pack does nothing: Lease writes packs.
func (dialect) Pack(context.Context, base.Tx, base.Pack) (bool, error) { return false, nil }

// UnpackedSince reads all packs together. There are only a few at a time, and an index skips those that a long transaction
// elsewhere keeps from being removed. Ten seconds allow for transactions that read the clock and then waited.
func (dialect) UnpackedSince(column, instant string) string {
	return fmt.Sprintf(" and %s not in (select unnest(jobs) from belfry.packs where claimed_at >= %s::bigint - 10000000)", column, instant)
}

// Unpack replaces the packs of leased jobs by one row of leases for each job in them. The caller has locked the rows of some of
// the jobs, so none of these gets into another pack meanwhile.
//
// One statement locks the packs, and the next reads their content. A success that this one had to wait for has removed its jobs
// by then. A success that waits for this transaction finds the pack as it leaves it. So locks are taken in the same order
// everywhere: jobs, packs, leases.
//
// Jobs whose rows another transaction holds stay in the pack without a wait. That transaction may be about to remove them. It
// may also be a caller's transaction and last long (see [dialect.leave]), and a row of leases made now would outlive its job.
func (dialect) Unpack(ctx context.Context, tx base.Tx, w base.Packed) error {
	query, args := `select number from belfry.packs`, []any(nil)
	switch {
	case w.Session != "": // the caller is maintenance, which need not wait
		query, args = query+` where session = $1 and claimed_at < $2 order by number for update skip locked`, []any{w.Session, w.Before}
	case w.All:
		query += ` order by number for update`
	default:
		if len(w.Jobs) == 0 {
			return nil
		}
		packs, err := packsWith(ctx, tx, w.Jobs, `last_job >= $1 and first_job <= $2`, slices.Min(w.Jobs), slices.Max(w.Jobs))
		if err != nil || len(packs) == 0 {
			return err
		}
		numbers := make([]int64, len(packs))
		for i, p := range packs {
			numbers[i] = p.number
		}
		query, args = query+` where number = any ($1) order by number for update`, []any{numbers}
	}
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	numbers, err := scanNumbers(rows)
	if err != nil || len(numbers) == 0 {
		return err
	}
	// A job with leases in both forms was claimed by a program that does not know packs.
	if _, err = tx.Exec(ctx, `
		with free as materialized (
			select j.id
			from belfry.packs p
			cross join lateral unnest(p.jobs) as u (id)
			cross join lateral (select id from belfry.jobs where id = u.id for key share skip locked) j
			where p.number = any ($1))
		insert into belfry.leases (job_id, number, session, claimed_at, deadline_at, ahead)
		select job_id, number, session, claimed_at, deadline_at, ahead
		from belfry.packed
		where number = any ($1) and job_id in (select id from free)
		on conflict (job_id) do nothing`, numbers); err != nil {
		return err
	}
	// The rest of a list are jobs that another transaction holds, or that no longer exist.
	if _, err = tx.Exec(ctx, `
		update belfry.packs
		set jobs = held.jobs, living = array_length(held.jobs, 1)
		from (
			select number, array_agg(job_id order by job_id) as jobs
			from belfry.packed
			where number = any ($1) and (select l.number from belfry.leases l where l.job_id = belfry.packed.job_id) is null
			group by number) held
		where belfry.packs.number = held.number`, numbers); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		delete from belfry.packs
		where number = any ($1) and not exists (
			select from belfry.packed where belfry.packed.number = belfry.packs.number and (select l.number from belfry.leases l where l.job_id = belfry.packed.job_id) is null)`, numbers)
	return err
}

func scanNumbers(rows base.Rows) (all []int64, err error) {
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
