package sqlite

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/quotas"
)

// pruneStep bounds the rows that one transaction deletes, so that others do not wait long for it.
const pruneStep = 2000

// histories are the tables that only grow in the order of time, with their column of time. If the number of jobs is limited,
// rows of a job are deleted after the job, and not while it runs. Buffered occurrences still have to run, so they stay however
// old they are.
var histories = []struct {
	table, row, at string
	ofJob          bool
	but            string
}{
	{"jobs_done", "seq", "finished_at", false, ""},
	{"attempts", "seq", "ended_at", true, " and (ended_at >= $1 or ended_at < $4 or " + ofNoJob + ")"},
	{"logs", "row", "at", true, " and (at >= $1 or at < $4 or " + ofNoJob + ")"},
	{"occurrences", "rowid", "decided_at", false, " and decision <> 'buffered'"},
}

// ofNoJob is the condition for rows whose job is neither live nor kept.
const ofNoJob = `(select count(*) from (select 1 from belfry.jobs j where j.id = job_id)) + (select count(*) from (select 1 from belfry.jobs_done d where d.id = job_id)) = 0`

// Prune deletes the oldest rows by ranges of their row numbers.
func (db *DB) Prune(ctx context.Context, k store.Keep) (more bool, err error) {
	err = db.Write(ctx, func(tx base.Tx, at base.Moment) error {
		more = false
		cutoff, err := pruneBefore(ctx, tx, k, at.Now)
		if err != nil {
			return err
		}
		tooOld := min(cutoff, at.Now.Add(-k.Age).UnixMicro())
		for _, h := range histories {
			// Rows are nearly in the order of time, and a row out of order is deleted with its neighbours. Rows written while
			// the clock was ahead are skipped, because they would hold up all later rows, and so are rows that stay. Rows after
			// the cutoff are not checked for that: each pass would walk the whole table.
			args := []any{cutoff, pruneStep, at.Now.UnixMicro()}
			if h.ofJob {
				args = append(args, tooOld)
			}
			n, err := tx.Exec(ctx, `
				delete from belfry.`+h.table+`
				where `+h.row+` in (
					select `+h.row+` from (
						select `+h.row+`, `+h.at+` from belfry.`+h.table+`
						where `+h.at+` <= $3`+h.but+`
						order by `+h.row+`
						limit $2)
					where `+h.at+` < $1)`, args...)
			if err != nil {
				return err
			}
			more = more || n == pruneStep
			if h.table == "logs" && n < pruneStep {
				if err := freeLogs(ctx, tx, cutoff, at.Now.UnixMicro()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return more, err
}

// freeLogs frees the quota of deleted hours of logs. Pieces that stay lie before the first pieces that are kept by their time.
func freeLogs(ctx context.Context, tx base.Tx, cutoff, now int64) error {
	forget, recount := quotas.FreeLogs(`(
		select job_id, at, size
		from belfry.logs
		where row <= (select coalesce(max(row), 9223372036854775807) from (select row from belfry.logs where at >= $2 and at <= $3 order by row limit $4)))`)
	hour := (cutoff - (job.LogLate + job.LogEarly).Microseconds()) / base.LogHour
	n, err := tx.Exec(ctx, forget, hour)
	if err == nil && n > 0 {
		_, err = tx.Exec(ctx, recount, hour, cutoff, now, pruneStep)
	}
	return err
}

// pruneBefore returns the instant before which nothing is kept: by age, or the end of the oldest finished job within the number
// of jobs kept. Jobs that ended at the same instant stay with it.
func pruneBefore(ctx context.Context, tx base.Tx, k store.Keep, now time.Time) (int64, error) {
	cutoff := now.Add(-k.Age).UnixMicro()
	rows, err := tx.Query(ctx, `
		select finished_at
		from belfry.jobs_done
		where seq <= (select max(seq) from belfry.jobs_done) - $1 + 1
		order by seq desc
		limit 1`, k.Jobs)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			return 0, err
		}
		cutoff = max(cutoff, at)
	}
	if !k.Before.IsZero() {
		cutoff = min(cutoff, k.Before.UnixMicro())
	}
	return cutoff, rows.Err()
}
