package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
)

// place is a position in the history of a database: its epoch, and the byte of the log up to which everything is on disk. A
// negative epoch is that of another server.
type place struct{ epoch, flushed int64 }

var (
	// errOtherHistory means that commits may have been lost, and that no epoch has begun since.
	errOtherHistory = errors.New("the server was promoted or restored")
	// errOldHistory means that this server lacks history that this process has seen.
	errOldHistory = &core.Error{
		Code:    core.Unavailable,
		Message: "the database is behind: this process has written to a later one, after a failover",
		Hint:    "point the address at the new primary and stop the old one; if it was restored on purpose, restart all nodes",
	}
)

// compare checks the place that a transaction finds against the place known before it began.
func (known place) compare(found place) error {
	switch {
	case found.epoch < 0:
		return errOtherHistory
	case found.epoch < known.epoch:
		return errOldHistory
	case found.epoch == known.epoch && found.flushed < known.flushed:
		return errOtherHistory // data that was on disk is missing: an older copy
	}
	return nil
}

// epochs holds the part of the database's history that this process has seen.
type epochs struct {
	mu     sync.Mutex
	known  place
	begun  []func()
	system string // the identifier of the server; empty: unknown
}

func (e *epochs) last() place {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}

// arrive records the place that a transaction has found, or returns an error if the transaction must not continue.
func (e *epochs) arrive(known, found place) error {
	if err := known.compare(found); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case found.epoch > e.known.epoch:
		news := e.known.epoch != 0
		e.known = found
		if news {
			for _, fn := range e.begun {
				fn()
			}
		}
	case found.epoch == e.known.epoch:
		e.known.flushed = max(e.known.flushed, found.flushed)
	}
	return nil
}

// OnEpoch registers fn, which runs when this process finds a new epoch: cached data may be of a lost history. fn must not wait
// for the database.
func (db *DB) OnEpoch(fn func()) { db.epochs.begun = append(db.epochs.begun, fn) }

// refuseHistory returns the error for a caller's transaction, which cannot wait for a new epoch.
func refuseHistory(err error) error {
	if errors.Is(err, errOtherHistory) {
		return coded(core.Unavailable, err, "the database was promoted or restored, and the node has yet to take notice", "begin the transaction again")
	}
	return err
}

// skipped is how many numbers of each kind a new epoch skips. Numbers drawn in the lost history must not be drawn again.
// Otherwise another job would get an id that a client knows, or another attempt a lease that a worker holds. 10,000 jobs a
// second draw that many in eleven days, and JSON can represent 900,000 such steps.
const skipped = "10000000000"

// beginEpoch records the history of the database. If the history is another one than before, or by order, a new epoch begins:
//
//   - All sessions end, so their workers stop their jobs. These jobs are lost, as after the loss of a worker.
//   - All leases get a number that no worker knows, so that reports under the old number have no effect.
//   - Numbers are skipped.
//
// Until that is committed, each transaction on this server gets here and waits for it.
func (db *DB) beginEpoch(ctx context.Context, conn *pgxpool.Conn, order bool) error {
	known := db.epochs.last()
	var became int64
	var timeline string
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := db.mayWrite(ctx, tx); err != nil {
			return err
		}
		var found place
		var was string
		var wall int64 // gives two promoted servers different epochs
		if err := tx.QueryRow(ctx, db.schema.sql(`
			select number, timeline, `+db.signs.timelineSQL()+`, `+db.signs.lengthSQL()+`, (extract(epoch from clock_timestamp()) * 1000000)::bigint
			from belfry.epoch
			for update`)).Scan(&found.epoch, &was, &timeline, &found.flushed, &wall); err != nil {
			return fmt.Errorf("read the epoch: %w", err)
		}
		now := wall
		if db.clock != nil {
			now = base.Micros(db.clock())
		}
		number := found.epoch
		moved := was != timeline && (db.signs.timeline || was == restored)
		if moved {
			found.epoch = -number
		}
		switch err := known.compare(found); {
		case order, errors.Is(err, errOtherHistory):
		default:
			return err // another node was faster, or this process has reached an older server
		}
		if order || !moved || was != "" {
			number = max(number+1, known.epoch+1, wall)
			became = number
			if err := db.endHistory(ctx, tx, now); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, db.schema.sql(`update belfry.epoch set number = $1, timeline = $2, system = $3`), number, timeline, db.epochs.system)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	if became > 0 {
		db.log.Warn("the database was promoted or restored: all sessions have ended, and their jobs are lost", "epoch", became, "timeline", timeline)
	}
	return nil
}

// endHistory ends everything that began in the previous history. Locks are taken in the order of all transitions.
func (db *DB) endHistory(ctx context.Context, tx pgx.Tx, now int64) error {
	for _, s := range []base.Statement{
		{SQL: `update belfry.sessions set ended_at = $1, lost = $2 where id in (select id from belfry.sessions where ended_at = 0 order by id for update)`, Args: []any{now, base.LostByEpoch}},
		{SQL: `select count(*) from (select id from belfry.jobs where id in (select job_id from belfry.running) order by id for update) as locked`},
		{SQL: `update belfry.logs set lease = lease + ` + skipped + ` where (job_id, lease) in (select job_id, number from belfry.running)`},
		{SQL: `update belfry.packs set number = number + ` + skipped},
		{SQL: `update belfry.leases set number = number + ` + skipped},
		{SQL: `update belfry.leftovers set seen = 0`},                          // a number of the previous history
		{SQL: `update belfry.hook_version set version = version + ` + skipped}, // otherwise a node could take hooks of the previous history for those of a repeated number
		{
			SQL:  `select count(setval(oid::regclass, nextval(oid::regclass) + ` + skipped + `)) from pg_class where relkind = 'S' and relnamespace = to_regnamespace($1)`,
			Args: []any{string(db.schema)},
		},
	} {
		if _, err := tx.Exec(ctx, db.schema.sql(s.SQL), s.Args...); err != nil {
			return fmt.Errorf("%w\n%s", err, s.SQL)
		}
	}
	return nil
}

// findSystem records the identifier of the server. If it differs from that of the database, a dump was restored to another
// server, and an epoch begins. A server that does not tell its identifier, or not to this role, is not compared.
func (db *DB) findSystem(ctx context.Context) error {
	var pg *pgconn.PgError
	if err := db.pool.QueryRow(ctx, `select system_identifier::text from pg_control_system()`).Scan(&db.epochs.system); err != nil && !errors.As(err, &pg) {
		return err
	}
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var was string
	if err := conn.QueryRow(ctx, db.schema.sql(`select system from belfry.epoch`)).Scan(&was); err != nil {
		return fmt.Errorf("read the epoch: %w", err)
	}
	if was == "" || was == db.epochs.system || db.epochs.system == "" {
		return nil
	}
	return db.beginEpoch(ctx, conn, true)
}
