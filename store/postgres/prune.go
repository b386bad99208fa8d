package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// parents are the tables that lie in partitions of a day.
var parents = []string{"jobs_done", "attempts", "logs", "occurrences"}

const day = 24 * time.Hour

// ahead is how many days are prepared. A node that does not run for longer
// makes today's when it starts.
const ahead = 3

// beginAlter begins a change of the schema. A node that freezes in it holds locks,
// as in [beginSQL].
const beginAlter = "begin; set local idle_in_transaction_session_timeout = " + frozenAfter

// hastyAlter has a change of the schema give up on a table that others read or write:
// while it waits for them, later transactions wait behind it.
const hastyAlter = "set local lock_timeout = '2s'"

func (db *DB) alter(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: beginAlter}, func(tx pgx.Tx) error {
		if err := db.mayWrite(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// inTheWay reports that a change of the schema gave up on a table that others use.
func inTheWay(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "55P03" || pg.Code == "40P01")
}

// addPartitions makes what is missing of the coming days, each table's by itself,
// so that one that is held up does not hold up the others. A patient pass leaves the tables that
// others use to the next pass: rows of a day that is missing go to
// the rest, and leave it when the day is made.
func (db *DB) addPartitions(ctx context.Context, patient bool) error {
	var micros int64
	if err := db.pool.QueryRow(ctx, clockSQL).Scan(&micros); err != nil {
		return err
	}
	today := time.UnixMicro(micros).UTC().Truncate(day)
	var failed []error
	for _, parent := range parents {
		err := db.addDays(ctx, parent, today)
		if patient && inTheWay(err) {
			db.log.Warn("days of history could not be prepared yet", "table", parent, "error", err)
			continue
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// addDays looks first, because next to always nothing is missing. A lock that ends
// with the transaction keeps nodes from making the same day.
func (db *DB) addDays(ctx context.Context, parent string, today time.Time) error {
	var names []string
	from := map[string]time.Time{}
	for n := -1; n <= ahead; n++ {
		at := today.Add(time.Duration(n) * day)
		name := parent + "_" + at.Format("20060102")
		names, from[name] = append(names, name), at
	}
	// The table of tables is read, and no name looked up: that a name was not there
	// is remembered by the connection, and not forgotten while it waits for the lock.
	missing := func(q queryer) ([]string, error) {
		rows, err := q.Query(ctx, "select relname::text from pg_class where relnamespace = to_regnamespace($1) and relname = any($2::text[])", string(db.schema), names)
		if err != nil {
			return nil, err
		}
		there, err := pgx.CollectRows(rows, pgx.RowTo[string])
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(there, name) }), err
	}
	if none, err := missing(db.pool); err != nil || len(none) == 0 {
		return err
	}
	return db.alter(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtext($1))", string(db.schema)+" partitions"); err != nil {
			return err
		}
		still, err := missing(tx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, hastyAlter); err != nil {
			return err
		}
		for _, name := range still {
			if err := db.addPartition(ctx, tx, parent, name, from[name]); err != nil {
				return fmt.Errorf("prepare a day of %s: %w", parent, err)
			}
		}
		return nil
	})
}

// addPartition makes the partition of one day. Rows of that day that went to
// the rest before it was prepared are taken along, or PostgreSQL would refuse.
func (db *DB) addPartition(ctx context.Context, tx pgx.Tx, parent, name string, from time.Time) error {
	at := map[string]string{"jobs_done": "finished_at", "attempts": "ended_at", "logs": "at", "occurrences": "nominal"}[parent]
	lo, hi := from.UnixMicro(), from.Add(day).UnixMicro()
	for _, stmt := range []string{
		fmt.Sprintf("create table belfry.%s (like belfry.%s including defaults)", name, parent),
		fmt.Sprintf("with moved as (delete from belfry.%s_rest where %s >= %d and %s < %d returning *) insert into belfry.%s select * from moved", parent, at, lo, at, hi, name),
		fmt.Sprintf("alter table belfry.%s attach partition belfry.%s for values from (%d) to (%d)", parent, name, lo, hi),
	} {
		if _, err := tx.Exec(ctx, db.schema.sql(stmt)); err != nil {
			return err
		}
	}
	return nil
}

// Prune drops the days that retention no longer keeps, and prepares new ones.
func (db *DB) Prune(ctx context.Context, k store.Keep) (more bool, err error) {
	if err := db.addPartitions(ctx, true); err != nil {
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
	if err == nil && !more {
		err = freeLogs(ctx, db, cutoff)
	}
	return more, translate(err)
}

// freeLogs makes room in quotas for logs of hours that are gone. A day that could not be dropped yet still counts.
func freeLogs(ctx context.Context, db *DB, cutoff time.Time) error {
	days, err := db.days(ctx, "logs")
	if err != nil {
		return err
	}
	if len(days) > 0 && days[0].from.Before(cutoff) {
		cutoff = days[0].from
	}
	return db.alter(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, db.schema.sql(`delete from belfry.log_use where hour < $1`), cutoff.UnixMicro()/base.LogHour)
		return err
	})
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
		order by c.relname`, db.schema.of(parent))
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
		if parent == "occurrences" {
			if some, err := decidedSince(ctx, db, d.name, cutoff); err != nil {
				return err
			} else if some {
				continue
			}
		}
		err := db.alter(ctx, func(tx pgx.Tx) error { // tried again with the next pass
			if _, err := tx.Exec(ctx, hastyAlter); err != nil {
				return err
			}
			if parent == "occurrences" {
				if some, err := buffered(ctx, tx, db.schema, d.name); err != nil || some {
					return err
				}
			}
			_, err := tx.Exec(ctx, "drop table if exists "+pgx.Identifier{string(db.schema), d.name}.Sanitize())
			return err
		})
		if errors.Is(err, core.ErrOutdated) {
			return err
		}
		if err != nil {
			db.log.Warn("a day of history could not be dropped yet", "table", d.name, "error", err)
		}
	}
	return nil
}

// decidedSince reports whether a day of occurrences has some that wait for the run before them, or that were decided lately: a
// backfill makes them for days that lie back, and looks there for what it has made. Nothing is locked, so one that is decided
// at this very moment may be missed.
func decidedSince(ctx context.Context, db *DB, name string, cutoff time.Time) (some bool, err error) {
	table := pgx.Identifier{string(db.schema), name}.Sanitize()
	err = db.pool.QueryRow(ctx, "select exists (select 1 from "+table+" where decision = 'buffered') or exists (select 1 from "+table+" where decided_at >= $1)", cutoff.UnixMicro()).Scan(&some)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // another node has dropped it
		return false, nil
	}
	return some, err
}

// buffered reports whether a day of occurrences that is to be dropped has some that wait for the run before them: they are
// still to run, however old they are, so the day is kept. None is added meanwhile, because the table of all days is locked, as to drop one does.
func buffered(ctx context.Context, tx pgx.Tx, s schema, name string) (some bool, err error) {
	if _, err := tx.Exec(ctx, s.sql("lock table only belfry.occurrences in access exclusive mode")); err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, "select exists (select 1 from pg_class where oid = to_regclass($1))", s.of(name)).Scan(&some)
	if err != nil || !some { // another node has dropped it
		return false, err
	}
	err = tx.QueryRow(ctx, "select exists (select 1 from "+pgx.Identifier{string(s), name}.Sanitize()+" where decision = 'buffered')").Scan(&some)
	return some, err
}

// restStep bounds the rows that leave a rest in one statement.
const restStep = 5000

// pruneRest removes what fell into no prepared day, a bounded part at a time,
// and reports whether there is more.
func (db *DB) pruneRest(ctx context.Context, cutoff time.Time) (more bool, err error) {
	for parent, old := range map[string]string{
		"jobs_done": "finished_at < $1", "attempts": "ended_at < $1", "logs": "at < $1", "occurrences": "decided_at < $1 and decision <> 'buffered'",
	} {
		err := db.alter(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, db.schema.sql(fmt.Sprintf(`
				delete from belfry.%[1]s_rest
				where ctid in (select ctid from belfry.%[1]s_rest where %[2]s limit $2)`, parent, old)), cutoff.UnixMicro(), restStep)
			more = more || tag.RowsAffected() == restStep
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return more, nil
}
