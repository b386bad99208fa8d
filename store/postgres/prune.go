package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/store"
)

// parents are the tables that lie in partitions of a day.
var parents = []string{"jobs_done", "attempts", "logs", "occurrences"}

const day = 24 * time.Hour

// ahead is how many days are prepared. A node that does not run for longer
// makes today's when it starts.
const ahead = 3

// addPartitions prepares the coming days. A lock that ends with the
// transaction keeps nodes from doing it at the same time.
func (db *DB) addPartitions(ctx context.Context) error {
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		var micros int64
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtext('belfry partitions'))"); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, clockSQL).Scan(&micros); err != nil {
			return err
		}
		today := time.UnixMicro(micros).UTC().Truncate(day)
		for _, parent := range parents {
			for n := -1; n <= ahead; n++ {
				if err := addPartition(ctx, tx, parent, today.Add(time.Duration(n)*day)); err != nil {
					return fmt.Errorf("prepare a day of %s: %w", parent, err)
				}
			}
		}
		return nil
	})
}

// addPartition makes the partition of one day. Rows of that day that went to
// the rest before it was prepared are taken along, or PostgreSQL would refuse.
func addPartition(ctx context.Context, tx pgx.Tx, parent string, from time.Time) error {
	name := parent + "_" + from.Format("20060102")
	var exists bool
	if err := tx.QueryRow(ctx, "select to_regclass($1) is not null", name).Scan(&exists); err != nil || exists {
		return err
	}
	at := map[string]string{"jobs_done": "finished_at", "attempts": "ended_at", "logs": "at", "occurrences": "nominal"}[parent]
	lo, hi := from.UnixMicro(), from.Add(day).UnixMicro()
	for _, stmt := range []string{
		fmt.Sprintf("create table %s (like %s including defaults)", name, parent),
		fmt.Sprintf("with moved as (delete from %s_rest where %s >= %d and %s < %d returning *) insert into %s select * from moved", parent, at, lo, at, hi, name),
		fmt.Sprintf("alter table %s attach partition %s for values from (%d) to (%d)", parent, name, lo, hi),
	} {
		if _, err := tx.Exec(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// Prune drops the days that retention no longer keeps, and prepares new ones.
func (db *DB) Prune(ctx context.Context, k store.Keep) (more bool, err error) {
	if err := db.addPartitions(ctx); err != nil {
		return false, translate(err)
	}
	cutoff, err := db.pruneBefore(ctx, k)
	if err != nil {
		return false, translate(err)
	}
	if !k.Before.IsZero() && k.Before.Before(cutoff) {
		cutoff = k.Before.Truncate(day) // a day goes as a whole
	}
	for _, parent := range parents {
		if err := db.dropBefore(ctx, parent, cutoff); err != nil {
			return false, translate(err)
		}
	}
	more, err = db.pruneRest(ctx, cutoff)
	return more, translate(err)
}

// pruneBefore is the day before which nothing is kept: by age, or because the
// newer days alone hold as many finished jobs as are kept. Their number is the
// planner's estimate; nothing is counted.
func (db *DB) pruneBefore(ctx context.Context, k store.Keep) (time.Time, error) {
	var micros int64
	if err := db.pool.QueryRow(ctx, clockSQL).Scan(&micros); err != nil {
		return time.Time{}, err
	}
	cutoff := time.UnixMicro(micros).UTC().Add(-k.Age).Truncate(day)
	days, err := db.days(ctx, "jobs_done")
	if err != nil {
		return time.Time{}, err
	}
	var held float64
	for i := len(days) - 1; i >= 0; i-- {
		if held += days[i].rows; held > float64(k.Jobs) && i > 0 && days[i].from.After(cutoff) {
			return days[i].from, nil
		}
	}
	return cutoff, nil
}

type oneDay struct {
	name string
	from time.Time
	rows float64
}

// days lists the partitions of a table, oldest first.
func (db *DB) days(ctx context.Context, parent string) ([]oneDay, error) {
	rows, err := db.pool.Query(ctx, `
		select c.relname, greatest(c.reltuples, 0)
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		where i.inhparent = to_regclass($1)
		order by c.relname`, parent)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var days []oneDay
	for rows.Next() {
		var d oneDay
		if err := rows.Scan(&d.name, &d.rows); err != nil {
			return nil, err
		}
		from, err := time.Parse("20060102", strings.TrimPrefix(d.name, parent+"_"))
		if err != nil {
			continue // the rest
		}
		d.from = from
		days = append(days, d)
	}
	return days, rows.Err()
}

func (db *DB) dropBefore(ctx context.Context, parent string, cutoff time.Time) error {
	days, err := db.days(ctx, parent)
	if err != nil {
		return err
	}
	for _, d := range days {
		if d.from.Add(day).After(cutoff) {
			continue
		}
		// A drop waits for readers of the table and makes new ones wait behind
		// it, so it gives up quickly and comes again with the next pass.
		err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "set local lock_timeout = '2s'"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "drop table if exists "+pgx.Identifier{d.name}.Sanitize())
			return err
		})
		if err != nil {
			db.log.Warn("a day of history could not be dropped yet", "table", d.name, "error", err)
		}
	}
	return nil
}

// restStep bounds the rows that leave a rest in one statement.
const restStep = 5000

// pruneRest removes what fell into no prepared day, a bounded part at a time,
// and reports whether there is more.
func (db *DB) pruneRest(ctx context.Context, cutoff time.Time) (more bool, err error) {
	for parent, at := range map[string]string{"jobs_done": "finished_at", "attempts": "ended_at", "logs": "at", "occurrences": "decided_at"} {
		tag, err := db.pool.Exec(ctx, fmt.Sprintf(`
			delete from %[1]s_rest
			where ctid in (select ctid from %[1]s_rest where %[2]s < $1 limit $2)`, parent, at), cutoff.UnixMicro(), restStep)
		if err != nil {
			return false, err
		}
		more = more || tag.RowsAffected() == restStep
	}
	return more, nil
}
