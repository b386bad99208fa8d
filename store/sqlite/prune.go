package sqlite

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// pruneStep bounds the rows that one transaction removes, so that no other
// waits long behind it.
const pruneStep = 2000

// histories are the tables that only grow, in the order of time, and the
// column that says when. Where the number of jobs is what counts, what belongs to a job goes
// after it, and not while it runs. Occurrences that wait for the run before them are still to run, however old they are.
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

// ofNoJob is of rows whose job neither lives nor is kept.
const ofNoJob = `(select count(*) from (select 1 from belfry.jobs j where j.id = job_id)) + (select count(*) from (select 1 from belfry.jobs_done d where d.id = job_id)) = 0`

// Prune removes the oldest rows by the range of their row numbers.
func (db *DB) Prune(ctx context.Context, k store.Keep) (more bool, err error) {
	err = db.Write(ctx, func(tx base.Tx, at base.Moment) error {
		more = false
		cutoff, err := pruneBefore(ctx, tx, k, at.Now)
		if err != nil {
			return err
		}
		tooOld := min(cutoff, at.Now.Add(-k.Age).UnixMicro())
		for _, h := range histories {
			// Rows are nearly in the order of time; one that is out of it goes
			// with its neighbours. Those that were written while the clock was
			// ahead are stepped over, or they would hold up all behind them, and so
			// are those that stay. Rows after the cutoff are not looked at for that, or
			// each pass would walk the whole table.
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
				// Hours that are gone as a whole make room in quotas. A piece that is out of order may be left behind one
				// that is kept, and was written after it, and pieces of jobs that are kept stay; neither is counted.
				gone := cutoff - (job.LogLate + job.LogEarly).Microseconds()
				if _, err := tx.Exec(ctx, `delete from belfry.log_use where hour < $1`, gone/base.LogHour); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return more, err
}

// pruneBefore is the instant before which nothing is kept: by age, or the end
// of the oldest finished job that is still one of the newest. Those that ended
// in the same instant stay with it.
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
