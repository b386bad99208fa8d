// Package postgres keeps a store in PostgreSQL 15 or newer, for any number of nodes at once.
//
// It needs no session state: no session-level locks, and no prepared statement that outlives a transaction unless the server
// can keep it. So it works behind a pooler in transaction mode. Only wake-ups by NOTIFY need a connection of their own, and
// polling replaces them where there is none.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// Options are the options to open a database. The zero value works.
type Options struct {
	store.Options
	// MaxConns is the size of the pool. Default: 16.
	MaxConns int
	// Wakeups is how nodes learn of each other's work: "notify", the default, or "poll" behind a pooler in transaction mode.
	Wakeups string
	// SimpleProtocol prepares nothing, for poolers that do not support prepared statements.
	SimpleProtocol bool
	// KeepSchema opens without migrating. A schema that is too old is then an error.
	KeepSchema bool
	// Schema is the PostgreSQL schema for the tables, and nothing else. It is created if it is missing. Stores with one schema
	// are one store, and stores with different ones do not affect each other. Default: "belfry".
	Schema string

	configure func(*pgxpool.Config) // for tests
}

// Open connects and brings the schema up to date. Many nodes may do so at the same time.
func Open(ctx context.Context, dsn string, o Options) (*store.Store, error) {
	db, err := open(ctx, dsn, o)
	if err != nil {
		return nil, err
	}
	return db.storeOf(ctx, o)
}

// storeOf brings the schema up to date and makes a store. An error closes the database.
func (db *DB) storeOf(ctx context.Context, o Options) (*store.Store, error) {
	if err := db.ready(ctx, o.KeepSchema); err != nil {
		return nil, errors.Join(db.unopened(err), db.Close())
	}
	st := store.New(db, o.Options)
	if err := st.Prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

// Migrate brings the schema up to date without opening a store, and creates the tables of the coming days. So the role that may
// change the schema can differ from the role of the nodes.
func Migrate(ctx context.Context, dsn string) (from, to int64, err error) {
	return Options{}.Migrate(ctx, dsn)
}

// Migrate is the function [Migrate] with these options.
func (o Options) Migrate(ctx context.Context, dsn string) (from, to int64, err error) {
	db, err := open(ctx, dsn, o)
	if err != nil {
		return 0, 0, err
	}
	defer db.pool.Close()
	if from, to, err = db.migrate(ctx, false); err == nil {
		err = db.addPartitions(ctx, false)
	}
	return from, to, db.unopened(err)
}

// unopened adds the address to the error for an unreachable server: the call is not repeated, and the address may be the
// mistake.
func (db *DB) unopened(err error) error {
	var away *core.Error
	if err = translate(err); !errors.As(err, &away) || away.Code != core.Unavailable {
		return err
	}
	hint := away.Hint
	if strings.HasPrefix(hint, "it is tried again; check") {
		hint = "check the address, and that the server runs there"
	}
	c := db.pool.Config().ConnConfig
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == "3D000" {
		hint = "create it: create database " + pgx.Identifier{c.Database}.Sanitize() + "; or check the name in the address"
	}
	return coded(core.Unavailable, away.Err, fmt.Sprintf("database %q at %s: %s", c.Database, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), away.Message), hint)
}

// DB is a pool of connections.
type DB struct {
	pool    *pgxpool.Pool
	foreign bool // the pool is the caller's
	schema  schema
	clock   func() time.Time
	log     *slog.Logger
	wakeups base.Wakeups
	horizon horizon
	epochs  epochs

	signs              signs // with the SQL that reads them
	beginSQL, adoptSQL string
}

func open(ctx context.Context, dsn string, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// The text of a parse error repeats the password.
		return nil, core.InvalidField("database", "", "is not a PostgreSQL address", "postgres://user:password@host:5432/name")
	}
	cfg.MaxConns = int32(o.MaxConns)
	if o.MaxConns <= 0 {
		cfg.MaxConns = 16
	}
	if o.SimpleProtocol {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "belfry"
	}
	cfg.AfterConnect = registerArrays
	if o.configure != nil {
		o.configure(cfg)
	}
	if o.Options = o.Options.WithDefaults(); sharesConnections(ctx, cfg.ConnConfig) {
		o.behindPooler(cfg)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, translate(err)
	}
	db, err := wrap(pool, o)
	if err != nil {
		pool.Close()
	}
	return db, err
}

func wrap(pool *pgxpool.Pool, o Options) (*DB, error) {
	o.Options = o.Options.WithDefaults()
	in, err := schemaOf(o.Schema)
	if err != nil {
		return nil, err
	}
	db := &DB{pool: pool, schema: in, clock: o.Clock, log: o.Logger}
	switch o.Wakeups {
	case "", "notify":
		db.wakeups = newNotifier(pool, string(in), o.Logger)
	case "poll":
		db.wakeups = poller{}
	default:
		return nil, core.InvalidField("wakeups", o.Wakeups, "is not a way to wake", "notify or poll")
	}
	return db, nil
}

// oldest is the first server version with all features used here.
const oldest = 150000

func (db *DB) ready(ctx context.Context, keepSchema bool) error {
	var version int
	if err := db.pool.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version < oldest {
		return core.Errorf(core.Invalid, "this PostgreSQL is version %d", version/10000).WithHint("Belfry needs 15 or newer")
	}
	if err := db.warnOfTimeout(ctx); err != nil {
		return err
	}
	from, to, err := db.migrate(ctx, keepSchema)
	if err != nil {
		return err
	}
	if keepSchema && from < to {
		return core.Errorf(core.Conflict, "the database has schema version %d, and this belfry needs %d", from, to).WithHint("run: belfry migrate")
	}
	if db.signs, err = askSigns(ctx, db.pool); err != nil {
		return err
	}
	db.signs.warn(db.log)
	place := db.signs.placeSQL()
	db.beginSQL, db.adoptSQL = db.schema.sql(beginSQL(place)), db.schema.sql(adoptSQL(place))
	if err := db.findSystem(ctx); err != nil {
		return err
	}
	return db.addPartitions(ctx, true)
}

// Pool returns the underlying pool, for users who keep their own tables in the same database.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close waits for connections in use and closes them. A caller's pool stays open.
func (db *DB) Close() error {
	if !db.foreign {
		db.pool.Close()
	}
	return nil
}

// attempts is how often a transaction is begun again after a passing fault: a deadlock, a serialization failure, a connection
// that was cut before anything was sent. A transaction that meets locked rows waits for them each time, and is begun up to
// meetings times.
const (
	attempts = 4
	meetings = 30
)

// beginRead begins a read without compiled plans. The planner prices a statement with a limit, or with a lookup of a lease by
// value, as if it went through all rows. Compiling such a count took 100 ms, and the count itself 5 ms. A node that freezes in
// a read prevents the removal of dead rows and of days of history, so the read is bounded too.
const beginRead = "begin isolation level repeatable read read only; set local jit = off; set local idle_in_transaction_session_timeout = " + readFrozenAfter

// readFrozenAfter is the longest time between two statements of a read. It is longer than [frozenAfter], because a read locks
// no rows, and work on large ones in between takes long on a busy machine: the plan of an apply with 26 MB of tasks took 15 s.
const readFrozenAfter = "'1min'"

// Read runs fn in a read-only transaction.
func (db *DB) Read(ctx context.Context, fn func(tx base.Tx) error) error {
	return db.retry(ctx, func() error {
		return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{BeginQuery: beginRead}, func(tx pgx.Tx) error {
			return fn(handle{q: tx, schema: db.schema})
		})
	})
}

// retry begins again after a passing fault. A commit whose answer was lost is not repeated: it may have happened.
func (db *DB) retry(ctx context.Context, fn func() error) error {
	begun, met := time.Now(), 0
	for try := 1; ; try++ {
		err := fn()
		for met < meetings && errors.As(err, new(base.Meets)) {
			met++
			if err = waitFor(ctx, db, err); err == nil {
				err = fn()
			}
		}
		if err == nil || !passing(err) || ctx.Err() != nil || try >= attempts && !(noConnection(err) && time.Since(begun) < roomWithin) {
			return translate(err)
		}
		db.log.Debug("transaction begun again", "try", try, "error", err)
		select {
		case <-time.After(time.Duration(min(try*try, 20)) * 5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitFor waits until each locked row that a transaction has met is free. The transaction was rolled back before, so it holds
// none of them while it waits.
func waitFor(ctx context.Context, db *DB, met error) (err error) {
	var m base.Meets
	errors.As(met, &m)
	if m.Makes != "" {
		_, err = db.pool.Exec(ctx, db.schema.sql(m.Makes), m.With...)
	}
	for _, id := range m.IDs {
		if err == nil {
			_, err = db.pool.Exec(ctx, db.schema.sql("select from belfry."+m.Table+" where "+cmp.Or(m.Key, "id")+" = $1 for update"), id)
		}
	}
	return err
}

// beginError is a fault before anything was done, usually a pooled connection that a restart of the server had cut.
type beginError struct{ error }

func (e beginError) Unwrap() error { return e.error }

func passing(err error) bool {
	if errors.Is(err, core.ErrOutdated) || core.CodeOf(err) == core.Unknown {
		return false
	}
	if errors.As(err, new(beginError)) || errors.As(err, new(base.Meets)) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "40001" || pg.Code == "40P01" || noConnection(err)
	}
	return pgconn.SafeToRetry(err)
}

// clockSQL reads the time of day, not that of the transaction's begin, which may be old after a wait for a lock.
const clockSQL = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"

// hooksSQL reads the common version of all hooks, which each change of a hook raises.
const hooksSQL = `select version from belfry.hook_version`

// adoptSQL is the same for a transaction that may make jobs ready: its number is drawn before the clock is read, as [horizon]
// requires.
func adoptSQL(place string) string {
	return "select (extract(epoch from clock_timestamp()) * 1000000)::bigint, (" + base.FloorSQL + "), " + place + ", (" + hooksSQL + ") from (select pg_current_xact_id() offset 0) as numbered"
}

// Adopt wraps a caller's transaction, of pgx or of database/sql.
func (db *DB) Adopt(ctx context.Context, tx any) (base.Tx, base.Dialect, base.Moment, error) {
	var h base.Tx
	switch t := tx.(type) {
	case pgx.Tx:
		h = handle{q: t, schema: db.schema}
	case *sql.Tx:
		h = stdHandle{t, db.schema}
	default:
		return nil, nil, base.Moment{}, core.Errorf(core.Invalid, "a transaction of type %T cannot be joined on PostgreSQL", tx).
			WithHint("pass a pgx.Tx or a *sql.Tx of the pgx driver")
	}
	at, err := db.adopt(ctx, h)
	if db.clock != nil {
		at.Now = db.clock()
	}
	return h, dialect{adopted: true}, at, err
}

// adopt returns the answer to [adoptSQL], if the transaction may write.
func (db *DB) adopt(ctx context.Context, tx base.Tx) (at base.Moment, err error) {
	known := db.epochs.last()
	rows, err := tx.Query(ctx, db.adoptSQL)
	if err != nil {
		return at, translate(err)
	}
	defer rows.Close()
	var micros int64
	var floor *int64
	var found place
	if rows.Next() {
		err = rows.Scan(&micros, &floor, &found.epoch, &found.flushed, &at.Hooks)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return at, translate(err)
	}
	if err := serves(floor); err != nil {
		return at, err
	}
	at.Now = time.UnixMicro(micros)
	return at, refuseHistory(db.epochs.arrive(known, found))
}

// Version returns the version of the server.
func (db *DB) Version(ctx context.Context) (string, error) {
	var v string
	if err := db.pool.QueryRow(ctx, "show server_version").Scan(&v); err != nil {
		return "", translate(err)
	}
	v, _, _ = strings.Cut(v, " ")
	return "postgres " + v, nil
}

// Skew compares the clocks, and attributes half of the round trip to the answer.
func (db *DB) Skew(ctx context.Context) (time.Duration, error) {
	sent := time.Now()
	var micros int64
	if err := db.pool.QueryRow(ctx, clockSQL).Scan(&micros); err != nil {
		return 0, translate(err)
	}
	return skewOf(sent, time.Now(), time.UnixMicro(micros)), nil
}

// skewOf returns the difference of a clock that was read between two instants of this process. It is 0 if the wait for the
// answer alone can explain it.
func skewOf(sent, answered, theirs time.Time) time.Duration {
	half := answered.Sub(sent) / 2
	if skew := sent.Add(half).Sub(theirs); skew.Abs() > half {
		return skew
	}
	return 0
}

// Wakeups returns the notifier or the poller.
func (db *DB) Wakeups() base.Wakeups { return db.wakeups }

type queryer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// handle is a transaction in the form for the store.
type handle struct {
	q      queryer
	schema schema
	ahead  *foreseen
}

func (h handle) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := h.q.Exec(ctx, h.schema.sql(query), args...)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return tag.RowsAffected(), nil
}

func (h handle) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	if rows, ok := h.ahead.take(query, args); ok {
		return rows, nil
	}
	rows, err := h.q.Query(ctx, h.schema.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return rows, nil
}

// stdHandle is the same for database/sql.
type stdHandle struct {
	tx     *sql.Tx
	schema schema
}

func (h stdHandle) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := h.tx.ExecContext(ctx, h.schema.sql(query), args...)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return res.RowsAffected()
}

func (h stdHandle) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	rows, err := h.tx.QueryContext(ctx, h.schema.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return stdRows{rows}, nil
}

type stdRows struct{ *sql.Rows }

func (r stdRows) Close() { _ = r.Rows.Close() }

// Scan also reads arrays, which database/sql does not know.
func (r stdRows) Scan(dest ...any) error {
	for i, d := range dest {
		if list, ok := d.(*[]int64); ok {
			dest[i] = pgtype.NewMap().SQLScanner(list)
		}
	}
	return r.Rows.Scan(dest...)
}
