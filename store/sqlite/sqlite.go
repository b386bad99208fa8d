// Package sqlite keeps a store in one SQLite file, with nothing to install.
//
// One goroutine writes. It commits the transitions that arrive while it works
// as one group, so a disk flush serves many of them. Readers use a pool of
// their own and, thanks to the write-ahead log, wait for nobody. A lock on the
// file keeps a second process out.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver, pure Go

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
)

// Options says how to open a file. The zero value works.
type Options struct {
	store.Options
	// Synchronous is how much a commit waits for the disk: FULL, the default,
	// survives a power cut; NORMAL may lose the last commits to one, though
	// not to a crash of the process.
	Synchronous string
	// KeepSchema opens without migrating. A schema that is too old is an error
	// then.
	KeepSchema bool
}

//go:embed migrations/*.sql
var files embed.FS

// Open opens or creates the file and brings its schema up to date. A file that
// another process has open is a [belfry.Conflict].
func Open(ctx context.Context, path string, o Options) (*store.Store, error) {
	db, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if o.KeepSchema && db.schemaFrom < schemaWanted {
		err := belfry.Errorf(belfry.Conflict, "the database has schema version %d, and this belfry needs %d", db.schemaFrom, schemaWanted).WithHint("run: belfry migrate")
		return nil, errors.Join(err, db.Close())
	}
	if o.PackFrom <= 0 {
		o.PackFrom = packFrom
	}
	st := store.New(db, o.Options)
	if err := st.Prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

// Migrate brings the schema of a file up to date without opening a store.
func Migrate(ctx context.Context, path string) (from, to int64, err error) {
	db, err := open(ctx, path, Options{KeepSchema: true, Options: store.Options{Clock: time.Now}})
	if belfry.CodeOf(err) == belfry.Conflict || err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return store.Migrate(ctx, goose.DialectSQLite3, db.writer, migrations(), false)
}

func migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// DB is an open file.
type DB struct {
	path    string
	lock    *flock.Flock
	writer  *sql.DB
	reader  *sql.DB
	readers chan *reader // those at rest
	users   *sql.DB
	clock   func() time.Time
	queue   chan *request
	closing chan struct{}
	done    chan struct{}
	close   func() error

	synchronous string // of the writer
	sequences   sequences

	schemaFrom int64 // before the migration of this opening
}

func open(ctx context.Context, path string, o Options) (_ *DB, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, belfry.InvalidField("database", path, err.Error(), "")
	}
	db := &DB{path: path, clock: o.Clock, queue: make(chan *request, maxGroup), closing: make(chan struct{}), done: make(chan struct{})}
	db.close = sync.OnceValue(db.end)
	if db.clock == nil {
		db.clock = time.Now
	}
	if err := db.takeLock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.release())
		}
	}()
	if err := db.connect(ctx, o); err != nil {
		return nil, err
	}
	if db.schemaFrom, _, err = store.Migrate(ctx, goose.DialectSQLite3, db.writer, migrations(), o.KeepSchema); err != nil {
		return nil, err
	}
	go db.write()
	return db, nil
}

// takeLock locks a file beside the database. The lock goes with the process,
// so there is nothing to clean up after a crash.
func (db *DB) takeLock() error {
	if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
		return belfry.Errorf(belfry.Invalid, "make the folder of the database: %w", err)
	}
	db.lock = flock.New(db.path+".lock", flock.SetPermissions(0o600))
	got, err := db.lock.TryLock()
	if err != nil {
		return belfry.Errorf(belfry.Invalid, "lock %s: %w", db.path, err).
			WithHint("the folder must exist and be writable")
	}
	if !got {
		return belfry.Errorf(belfry.Conflict, "another process has %s open", db.path).
			WithHint("talk to it with --server, or stop it first; for several nodes use PostgreSQL")
	}
	return nil
}

func (db *DB) connect(ctx context.Context, o Options) error {
	sync := strings.ToUpper(o.Synchronous)
	switch sync {
	case "":
		sync = "FULL"
	case "FULL", "NORMAL", "EXTRA":
	default:
		return belfry.InvalidField("synchronous", o.Synchronous, "is not a durability", "FULL or NORMAL")
	}
	if err := createPrivate(db.path); err != nil {
		return belfry.Errorf(belfry.Invalid, "create %s: %w", db.path, err).
			WithHint("name a file, in a folder that this user may write to")
	}
	db.synchronous = sync
	var err error
	if db.writer, err = sql.Open("sqlite", dsn(db.path, "journal_mode(WAL)", "synchronous("+sync+")", "busy_timeout(10000)", "foreign_keys(1)", "wal_autocheckpoint(4000)", "cache_size(-32000)")); err != nil {
		return err
	}
	db.writer.SetMaxOpenConns(1)
	if db.reader, err = sql.Open("sqlite", dsn(db.path, "query_only(1)", "busy_timeout(10000)", "cache_size(-16000)")); err != nil {
		return err
	}
	db.readers = newReaders(db.reader)
	if db.users, err = sql.Open("sqlite", dsn(db.path, "synchronous("+sync+")", "busy_timeout(10000)", "foreign_keys(1)")+"&_txlock=immediate"); err != nil {
		return err
	}
	db.users.SetMaxOpenConns(1)
	if err := db.writer.PingContext(ctx); err != nil {
		return belfry.Errorf(belfry.Invalid, "open %s: %w", db.path, err).
			WithHint("is it a SQLite file, and is the disk writable?")
	}
	return nil
}

// createPrivate makes the file readable by its owner alone: jobs carry inputs
// and outputs that are nobody else's business.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": pragmas}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// Close waits for the transitions under way, then closes the file. Closing
// again does nothing.
func (db *DB) Close() error { return db.close() }

func (db *DB) end() error {
	close(db.closing)
	<-db.done
	return db.release()
}

func (db *DB) release() error {
	var errs []error
	for range cap(db.readers) {
		(<-db.readers).giveUp()
	}
	for _, pool := range []*sql.DB{db.users, db.reader, db.writer} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(append(errs, db.lock.Unlock())...)
}

// SQL is a connection to the file for users who keep tables of their own in it
// and want to enqueue or finish in their transaction. While such a transaction
// is open, Belfry's own writes wait, up to ten seconds.
func (db *DB) SQL() *sql.DB { return db.users }

// Adopt wraps the caller's transaction.
func (db *DB) Adopt(_ context.Context, tx any) (store.Tx, store.Dialect, time.Time, error) {
	t, ok := tx.(*sql.Tx)
	if !ok {
		return nil, nil, time.Time{}, belfry.Errorf(belfry.Invalid, "a transaction of type %T cannot be joined on SQLite", tx).
			WithHint("pass a *sql.Tx on the same file")
	}
	return &handle{t}, foreign{}, db.clock(), nil
}

// Version names the database.
func (db *DB) Version(ctx context.Context) (string, error) {
	var v string
	err := db.ask(ctx, "select sqlite_version()", &v)
	return "sqlite " + v, err
}

// Schema is the version that is there and the one wanted.
func (db *DB) Schema(ctx context.Context) (have, want int64, err error) {
	err = db.ask(ctx, "select coalesce(max(version_id), 0) from belfry_schema", &have)
	return have, schemaWanted, err
}

// schemaWanted is the number of the last migration.
var schemaWanted = store.LastMigration(files)

// Skew is nothing here: the process's clock is the one that decides.
func (db *DB) Skew(context.Context) (time.Duration, error) { return 0, nil }

// Wakeups carries nothing, because no other process may have the file.
func (db *DB) Wakeups() store.Wakeups { return alone{} }

type alone struct{}

func (alone) Mode() string       { return "in process" }
func (alone) Announce(...string) {}
func (alone) Run(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}

// handle is a snapshot, or a transaction of the caller's, as the store sees it.
type handle struct{ tx *sql.Tx }

func (h *handle) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := h.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return res.RowsAffected()
}

func (h *handle) Query(ctx context.Context, query string, args ...any) (store.Rows, error) {
	rows, err := h.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return result{Rows: rows}, nil
}

type result struct {
	*sql.Rows
	fault *bool // it has failed; of a transition
}

func (r result) Err() error {
	err := r.Rows.Err()
	if err != nil && r.fault != nil {
		*r.fault = true
	}
	return err
}

func (r result) Close() { _ = r.Rows.Close() }
