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

// place is where in its history a database is: its epoch, and up to which byte of the log everything is on disk.
// A negative epoch is that of another server.
type place struct{ epoch, flushed int64 }

var (
	// errOtherHistory says that commits may have been lost, and that no epoch has begun since.
	errOtherHistory = errors.New("the server was promoted or restored")
	// errOldHistory says that this server is not where this process has been since.
	errOldHistory = &core.Error{
		Code:    core.Unavailable,
		Message: "the database is behind: this process has written to a later one, after a failover",
		Hint:    "point the address at the new primary and stop the old one; if it was restored on purpose, restart all nodes",
	}
)

// compare judges what a transaction finds, by what was known before it began.
func (known place) compare(found place) error {
	switch {
	case found.epoch < 0:
		return errOtherHistory
	case found.epoch < known.epoch:
		return errOldHistory
	case found.epoch == known.epoch && found.flushed < known.flushed:
		return errOtherHistory // what was on disk is not: a copy from before
	}
	return nil
}

// epochs is how far this process has seen the history of its database.
type epochs struct {
	mu     sync.Mutex
	known  place
	begun  []func()
	system string // the identifier of the server; empty: it does not tell
}

func (e *epochs) last() place {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known
}

// arrive notes what a transaction has found, unless it must not go on.
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

// OnEpoch has fn run when this process finds that a new epoch has begun: what it remembers of the database may be of
// a history that is lost. It must not wait for the database.
func (db *DB) OnEpoch(fn func()) { db.epochs.begun = append(db.epochs.begun, fn) }

// refuseHistory is for a transaction of the caller's, which cannot wait for a new epoch.
func refuseHistory(err error) error {
	if errors.Is(err, errOtherHistory) {
		return coded(core.Unavailable, err, "the database was promoted or restored, and the node has yet to take notice", "begin the transaction again")
	}
	return err
}

// skipped is how many numbers of each kind a new epoch leaves out. Numbers drawn in the lost history must
// not be drawn again: another job would have the id that a client was told, another attempt the lease that a worker
// holds. It is what 10,000 jobs a second draw in eleven days, and JSON can carry 900,000 such steps.
const skipped = "10000000000"

// beginEpoch notes which history the database is on. If that is another than before, or by order, a new epoch begins:
//
//   - All sessions end, so their workers stop what they run. Jobs leased to them are lost, as those of a worker that
//     is gone.
//   - All leases get a number that no worker knows, so that nothing comes of what is said under the old one, in
//     whichever way.
//   - Numbers are skipped.
//
// Until that is committed each transaction on this server comes here and waits for it.
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
		var wall int64 // by which two servers that are promoted both have epochs of their own
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
			return err // another node was faster, or this one has come to an older server
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

// endHistory ends what was begun in the history before. Locks are taken in the order of all transitions.
func (db *DB) endHistory(ctx context.Context, tx pgx.Tx, now int64) error {
	for _, s := range []base.Statement{
		{SQL: `update belfry.sessions set ended_at = $1, lost = $2 where id in (select id from belfry.sessions where ended_at = 0 order by id for update)`, Args: []any{now, base.LostByEpoch}},
		{SQL: `select count(*) from (select id from belfry.jobs where id in (select job_id from belfry.running) order by id for update) as locked`},
		{SQL: `update belfry.logs set lease = lease + ` + skipped + ` where (job_id, lease) in (select job_id, number from belfry.running)`},
		{SQL: `update belfry.packs set number = number + ` + skipped},
		{SQL: `update belfry.leases set number = number + ` + skipped},
		{SQL: `update belfry.leftovers set seen = 0`},                          // a number of the history before
		{SQL: `update belfry.hook_version set version = version + ` + skipped}, // or a node knows the hooks of the history before by a number that is given again
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

// findSystem notes the identifier of the server, and begins an epoch where it is not that of the database before: a dump
// was restored to another server. A server that does not tell, or not this role, is not compared.
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
