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
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/quotas"
)

// parents are the tables that are partitioned by day.
var parents = []string{"jobs_done", "attempts", "logs", "occurrences"}

const day = 24 * time.Hour

// ahead is the number of prepared days. A node that starts after a longer time without any creates today's partition.
const ahead = 3

// beginAlter begins a change of the schema. A node that freezes in it would hold locks, so it is bounded as in [beginSQL].
const beginAlter = "begin; set local idle_in_transaction_session_timeout = " + frozenAfter

// hastyAlter makes a change of the schema give up on a table in use: while it waits, later transactions wait behind it.
const hastyAlter = "set local lock_timeout = '2s'"

func (db *DB) alter(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: beginAlter}, func(tx pgx.Tx) error {
		if err := db.mayWrite(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// inTheWay reports that a change of the schema gave up on a table in use.
func inTheWay(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "55P03" || pg.Code == "40P01")
}

// mayNot reports that the role lacks a right.
func mayNot(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

// addPartitions creates the missing partitions of the coming days, separately for each table, so that one table in use does not
// hold up the others. A patient pass leaves tables in use to the next pass, and lives with a role that owns no tables: rows of a
// missing day go to the rest partition, until the day is created.
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
		if patient && mayNot(err) {
			db.log.Warn("the role may not prepare days of history, so their rows are removed one by one", "table", parent, "error", err,
				"way_out", "make the role of the node the owner of the schema and its tables, or a member of the owner")
			continue
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// addDays checks first, because almost always nothing is missing. A lock until the end of the transaction prevents nodes from
// creating the same day.
func (db *DB) addDays(ctx context.Context, parent string, today time.Time) error {
	var names []string
	from := map[string]time.Time{}
	for n := -1; n <= ahead; n++ {
		at := today.Add(time.Duration(n) * day)
		name := parent + "_" + at.Format("20060102")
		names, from[name] = append(names, name), at
	}
	// The catalog is read instead of looking up names: a connection caches that a name does not exist, also while it waits for
	// the lock.
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

// addPartition creates the partition of one day. It moves rows of that day out of the rest partition: otherwise PostgreSQL
// would refuse.
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

// Prune drops the days past retention, and prepares new ones.
func (db *DB) Prune(ctx context.Context, k store.Keep) (more bool, err error) {
	if err := db.addPartitions(ctx, true); err != nil {
		return false, translate(err)
	}
	cutoff, tooOld, err := db.pruneBefore(ctx, k)
	if err != nil {
		return false, translate(err)
	}
	if !k.Before.IsZero() && k.Before.Before(cutoff) {
		cutoff = k.Before.Truncate(day) // a day is dropped as a whole
	}
	for _, parent := range parents {
		if err := db.dropBefore(ctx, parent, cutoff, tooOld); err != nil {
			return false, translate(err)
		}
	}
	more, err = db.pruneRest(ctx, cutoff, tooOld)
	if err == nil && !more {
		err = freeLogs(ctx, db, cutoff)
	}
	return more, translate(err)
}

// freeLogs frees the quota of deleted hours of logs. A day that could not be dropped yet still counts.
func freeLogs(ctx context.Context, db *DB, cutoff time.Time) error {
	days, err := db.days(ctx, "logs")
	if err != nil {
		return err
	}
	if len(days) > 0 && days[0].from.Before(cutoff) {
		cutoff = days[0].from
	}
	return db.alter(ctx, func(tx pgx.Tx) error {
		forget, recount := quotas.FreeLogs("belfry.logs_rest")
		tag, err := tx.Exec(ctx, db.schema.sql(forget), cutoff.UnixMicro()/base.LogHour)
		if err == nil && tag.RowsAffected() > 0 {
			_, err = tx.Exec(ctx, db.schema.sql(recount), cutoff.UnixMicro()/base.LogHour)
		}
		return err
	})
}

// pruneBefore returns the day before which no job is kept: by age, or because newer days alone hold the number of finished
// jobs kept. That number is the planner's estimate; nothing is counted. Before the day tooOld nothing of any job is kept.
func (db *DB) pruneBefore(ctx context.Context, k store.Keep) (cutoff, tooOld time.Time, err error) {
	var micros int64
	if err := db.pool.QueryRow(ctx, clockSQL).Scan(&micros); err != nil {
		return cutoff, tooOld, err
	}
	tooOld = time.UnixMicro(micros).UTC().Add(-k.Age).Truncate(day)
	days, err := db.days(ctx, "jobs_done")
	if err != nil {
		return cutoff, tooOld, err
	}
	var held float64
	for i := len(days) - 1; i >= 0; i-- {
		if held += days[i].rows; held > float64(k.Jobs) && i > 0 && days[i].from.After(tooOld) {
			return days[i].from, tooOld, nil
		}
	}
	return tooOld, tooOld, nil
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
			continue // the rest partition
		}
		d.from = from
		days = append(days, d)
	}
	return days, rows.Err()
}

func (db *DB) dropBefore(ctx context.Context, parent string, cutoff, tooOld time.Time) error {
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
		var stay []int64
		if (parent == "attempts" || parent == "logs") && d.from.Add(day).After(tooOld) {
			if stay, err = staying(ctx, db, d, cutoff); err != nil {
				return err
			}
		}
		err := db.alter(ctx, func(tx pgx.Tx) error { // the next pass tries again
			if _, err := tx.Exec(ctx, hastyAlter); err != nil {
				return err
			}
			if len(stay) > 0 {
				return replaceDay(ctx, tx, db.schema, parent, d.name, stay)
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

// staying lists the jobs with rows in a day of attempts or logs that live, or ended after the cutoff. A time of a worker may be
// before that of its job.
func staying(ctx context.Context, db *DB, d oneDay, cutoff time.Time) ([]int64, error) {
	var lists []string
	for _, jobs := range []string{"jobs j where true", "jobs_done j where j.finished_at >= $2"} {
		lists = append(lists, "select j.id from belfry."+jobs+" and j.created_at < $1 and exists (select 1 from belfry."+d.name+" d where d.job_id = j.id)")
	}
	rows, err := db.pool.Query(ctx, db.schema.sql(strings.Join(lists, " union all ")), d.from.Add(day+job.LogEarly).UnixMicro(), cutoff.UnixMicro())
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // another node has dropped it
		return nil, nil
	}
	return ids, err
}

// replaceDay drops a day, and moves the rows of some jobs to the rest partition.
func replaceDay(ctx context.Context, tx pgx.Tx, s schema, parent, name string, jobs []int64) error {
	if _, err := tx.Exec(ctx, s.sql("lock table only belfry."+parent+" in access exclusive mode")); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow(ctx, "select to_regclass($1) is not null", s.of(name)).Scan(&there); err != nil || !there { // another node has dropped it
		return err
	}
	if _, err := tx.Exec(ctx, s.sql(fmt.Sprintf("alter table belfry.%s detach partition belfry.%s", parent, name))); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, s.sql(fmt.Sprintf("insert into belfry.%s_rest select * from belfry.%s where job_id = any($1)", parent, name)), jobs); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, s.sql("drop table belfry."+name))
	return err
}

// decidedSince reports whether a day has buffered occurrences, or some that were decided lately. A backfill creates occurrences
// for past days, and looks for them there. Nothing is locked, so one decided at this moment may be missed.
func decidedSince(ctx context.Context, db *DB, name string, cutoff time.Time) (some bool, err error) {
	table := pgx.Identifier{string(db.schema), name}.Sanitize()
	err = db.pool.QueryRow(ctx, "select exists (select 1 from "+table+" where decision = 'buffered') or exists (select 1 from "+table+" where decided_at >= $1)", cutoff.UnixMicro()).Scan(&some)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" { // another node has dropped it
		return false, nil
	}
	return some, err
}

// buffered reports whether a day to be dropped has buffered occurrences. They still have to run, however old they are, so the
// day is kept. None is added meanwhile, because the parent table is locked, as for a drop.
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

// restStep bounds the rows that one statement deletes from a rest partition.
const restStep = 5000

// pruneRest deletes old rows of no prepared day, a bounded number at a time, and reports whether there may be more.
func (db *DB) pruneRest(ctx context.Context, cutoff, tooOld time.Time) (more bool, err error) {
	const ofNoJob = ` and (%[1]s < $3 or not exists (select 1 from belfry.jobs j where j.id = job_id) and not exists (select 1 from belfry.jobs_done d where d.id = job_id))`
	for parent, old := range map[string]string{
		"jobs_done": "finished_at < $1", "attempts": "ended_at < $1" + fmt.Sprintf(ofNoJob, "ended_at"), "logs": "at < $1" + fmt.Sprintf(ofNoJob, "at"),
		"occurrences": "decided_at < $1 and decision <> 'buffered'",
	} {
		args := []any{cutoff.UnixMicro(), restStep}
		if parent == "attempts" || parent == "logs" {
			args = append(args, tooOld.UnixMicro())
		}
		err := db.alter(ctx, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, db.schema.sql(fmt.Sprintf(`
				delete from belfry.%[1]s_rest
				where ctid in (select ctid from belfry.%[1]s_rest where %[2]s limit $2)`, parent, old)), args...)
			more = more || tag.RowsAffected() == restStep
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return more, nil
}
