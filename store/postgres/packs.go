package postgres

import (
	"context"
	"slices"

	"github.com/belfry-run/belfry/store"
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

func scanPacks(rows store.Rows) (all []pack, err error) {
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

const selectPacks = `select number, session, claimed_at, jobs from packs`

// packsOf are those that were made with one of some jobs.
func packsOf(ctx context.Context, tx store.Tx, jobs []int64) ([]pack, error) {
	rows, err := tx.Query(ctx, selectPacks+` where last_job >= $1 and first_job <= $2`, slices.Min(jobs), slices.Max(jobs))
	if err != nil {
		return nil, err
	}
	near, err := scanPacks(rows)
	return slices.DeleteFunc(near, func(p pack) bool { return !slices.ContainsFunc(jobs, p.has) }), err
}

// Unpacked compares with all that was ever in a pack that is there. Those that
// have succeeded since are in nobody's way.
func (dialect) Unpacked(column string) string {
	return " and " + column + " not in (select unnest(jobs) from packs)"
}

// Unpack gives jobs that are leased in a pack, and all the others in it, a row
// of leases each. Whoever calls it for some jobs has their rows locked, so that
// none of them comes into another pack meanwhile.
//
// The packs are locked by a statement of their own, and what is in them is
// looked at by the next: a success that had to be waited for has removed its
// jobs by then, and one that waits for us finds the pack gone and the rows in
// its place. So locks are taken in this order everywhere: jobs, packs, leases.
func (dialect) Unpack(ctx context.Context, tx store.Tx, w store.Packed) error {
	query, args := `select number from packs`, []any(nil)
	switch {
	case w.Session != "":
		query, args = query+` where session = $1 and claimed_at < $2`, []any{w.Session, w.Before}
	case !w.All:
		if len(w.Jobs) == 0 {
			return nil
		}
		packs, err := packsOf(ctx, tx, w.Jobs)
		if err != nil || len(packs) == 0 {
			return err
		}
		numbers := make([]int64, len(packs))
		for i, p := range packs {
			numbers[i] = p.number
		}
		query, args = query+` where number = any ($1)`, []any{numbers}
	}
	rows, err := tx.Query(ctx, query+` order by number for update`, args...)
	if err != nil {
		return err
	}
	numbers, err := scanNumbers(rows)
	if err != nil || len(numbers) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `
		with gone as (delete from packs where number = any ($1))
		insert into leases (job_id, number, session, claimed_at, deadline_at)
		select job_id, number, session, claimed_at, deadline_at
		from packed
		where number = any ($1)`, numbers)
	return err
}

func scanNumbers(rows store.Rows) (all []int64, err error) {
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
