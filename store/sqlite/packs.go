package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-run/belfry/store/base"
)

// pack is a row of packs: the leases of one claim.
type pack struct {
	number, claimedAt int64
	session           string
	queue             string
	living            int
	limited           int64
	jobs              []int64 // ascending
}

func (p pack) has(job int64) bool {
	_, found := slices.BinarySearch(p.jobs, job)
	return found
}

func packsFrom(ctx context.Context, tx base.Tx, from string, args ...any) (all []pack, err error) {
	rows, err := tx.Query(ctx, `select number, session, queue, claimed_at, living, limited, jobs from `+from, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p pack
		var jobs string
		if err := rows.Scan(&p.number, &p.session, &p.queue, &p.claimedAt, &p.living, &p.limited, &jobs); err != nil {
			return nil, err
		}
		if p.jobs, err = parseJobs(jobs); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// A list of jobs has a comma at both ends, so that SQL finds a whole number in it.
func joinJobs(jobs []int64) string {
	list := make([]byte, 1, 8*len(jobs)+1)
	list[0] = ','
	for _, id := range jobs {
		list = append(strconv.AppendInt(list, id, 10), ',')
	}
	return string(list)
}

func parseJobs(list string) ([]int64, error) {
	jobs := make([]int64, 0, len(list)/4)
	for part := range strings.SplitSeq(strings.Trim(list, ","), ",") {
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, id)
	}
	return jobs, nil
}

// Pack writes the leases of a claim as one row.
func (dialect) Pack(ctx context.Context, tx base.Tx, p base.Pack) (bool, error) {
	slices.Sort(p.Jobs)
	_, err := tx.Exec(ctx, `
		insert into belfry.packs (number, session, queue, claimed_at, first_job, last_job, living, jobs, ahead, limited)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		p.Number, p.Session, p.Queue, p.ClaimedAt, p.Jobs[0], p.Jobs[len(p.Jobs)-1], len(p.Jobs), joinJobs(p.Jobs), p.Ahead, p.Limited)
	return true, err
}

// Unpack replaces the packs of leased jobs by one row of leases for each job in them.
func (dialect) Unpack(ctx context.Context, tx base.Tx, w base.Packed) error {
	var packs []pack
	var err error
	switch {
	case w.Session != "":
		packs, err = packsFrom(ctx, tx, `belfry.packs where session = $1 and claimed_at < $2`, w.Session, w.Before)
	case w.All:
		packs, err = packsFrom(ctx, tx, `belfry.packs`)
	case len(w.Jobs) > 0:
		packs, err = packsFrom(ctx, tx, `belfry.packs where last_job >= $1 and first_job <= $2`, slices.Min(w.Jobs), slices.Max(w.Jobs))
		packs = slices.DeleteFunc(packs, func(p pack) bool {
			return !slices.ContainsFunc(w.Jobs, p.has)
		})
	}
	for _, p := range packs {
		if err == nil {
			_, err = tx.Exec(ctx, `
				insert into belfry.leases (job_id, number, session, claimed_at, deadline_at, ahead)
				select job_id, number, session, claimed_at, deadline_at, ahead
				from belfry.packed
				where number = $1`, p.number)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `delete from belfry.packs where number = $1`, p.number)
		}
	}
	return err
}
