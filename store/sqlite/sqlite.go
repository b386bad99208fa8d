// Package sqlite keeps a store in one SQLite file, with nothing to install.
//
// One goroutine writes. It commits all transitions that arrive during its work as one group, so one disk flush serves many of
// them. Readers use their own pool, and do not wait because of the write-ahead log. A lock on the file excludes a second
// process.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver, pure Go

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

// Options are the options to open a file. The zero value works.
type Options struct {
	store.Options
	// Synchronous sets how long a commit waits for the disk. FULL, the default, survives a power cut. NORMAL may lose the last
	// commits to a power cut, but not to a crash of the process.
	Synchronous string
	// KeepSchema opens without migrating. A schema that is too old is then an error.
	KeepSchema bool
	// NoGroups commits each transition alone, and NoBatches passes rows as JSON instead of a virtual table. They serve to
	// measure the benefit of the two, or to look for a fault without them. No guarantee depends on either.
	NoGroups, NoBatches bool
	// Look makes SQLite check the pages of the file before its use, for up to two seconds. A damaged file is not opened. Look
	// reads all of a small file, and a part of a large one.
	Look bool
	// Prefix is the prefix of the names of all tables and indexes. Stores with one prefix are one store. Default: "belfry_".
	Prefix string
}

// Memory is the path of a database for tests: each store opened under it is empty, and is deleted when it is closed. It is a
// file in its own temporary folder, so it behaves like any other file, except that it is not safe against a power cut.
const Memory = ":memory:"

// Open opens or creates the file and brings its schema up to date. A file that another process or another store has open is a
// [core.Conflict]. For a path that leaves no file see [Memory].
func Open(ctx context.Context, path string, o Options) (*store.Store, error) {
	temporary := ""
	if path == Memory {
		var err error
		if temporary, err = os.MkdirTemp("", "belfry-memory-"); err != nil {
			return nil, core.Errorf(core.Unavailable, "make a folder for a temporary database: %w", err)
		}
		path, o.Synchronous = filepath.Join(temporary, "belfry.db"), "OFF"
	}
	db, err := open(ctx, path, o, temporary)
	if err != nil {
		return nil, err
	}
	return db.storeOf(ctx, o)
}

// storeOf makes a store. An error closes the database.
func (db *DB) storeOf(ctx context.Context, o Options) (*store.Store, error) {
	if o.KeepSchema && db.schemaFrom < schemaKnown {
		err := core.Errorf(core.Conflict, "the database has schema version %d, and this belfry needs %d", db.schemaFrom, schemaKnown).WithHint("run: belfry migrate")
		return nil, errors.Join(err, db.Close())
	}
	if o.PackFrom <= 0 {
		o.PackFrom = packFrom
	}
	st := store.New(db, o.Options)
	if err := st.Prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := st.TakeUp(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return st, nil
}

// Migrate brings the schema of a file up to date without opening a store.
func Migrate(ctx context.Context, path string) (from, to int64, err error) {
	return Options{}.Migrate(ctx, path)
}

// Migrate is the function [Migrate] with these options.
func (o Options) Migrate(ctx context.Context, path string) (from, to int64, err error) {
	db, err := open(ctx, path, Options{KeepSchema: true, Prefix: o.Prefix, Options: store.Options{Clock: time.Now}}, "")
	if core.CodeOf(err) == core.Conflict || err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.names.migrate(ctx, db.writer, false)
}

// DB is an open file.
type DB struct {
	path      string
	temporary string // folder that Close deletes, or empty
	names     prefix
	lock      *flock.Flock
	writer    *sql.DB
	reader    *sql.DB
	readers   chan *reader // idle readers
	users     *sql.DB
	foreign   bool // users is the caller's handle
	clock     func() time.Time
	queue     chan *request
	closing   chan struct{}
	done      chan struct{}
	close     func() error

	synchronous string // of the writer
	maxGroup    int    // most transitions in one commit
	noBatches   bool
	damage      damage

	schemaFrom int64 // version before the migration of this opening
}

// open opens a file. Close deletes a temporary folder. If users is set, the file is that of the caller's handle.
func open(ctx context.Context, path string, o Options, temporary string, users ...*sql.DB) (_ *DB, err error) {
	defer func() {
		if err != nil && temporary != "" {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
	}()
	if temporary == "" && len(users) == 0 {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, core.InvalidField("database", path, err.Error(), "")
	}
	path = followed(path)
	names, err := prefixOf(o.Prefix)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, temporary: temporary, names: names, clock: o.Clock, queue: make(chan *request, maxGroup), closing: make(chan struct{}), done: make(chan struct{}), maxGroup: maxGroup, noBatches: o.NoBatches}
	if o.NoGroups {
		db.maxGroup = 1
	}
	if len(users) > 0 {
		db.users, db.foreign = users[0], true
	}
	db.close = sync.OnceValue(db.end)
	if db.clock == nil {
		db.clock = time.Now
	}
	if err := db.takeLock(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(db.translate(err), db.release())
		}
	}()
	if err := db.connect(ctx, o); err != nil {
		return nil, err
	}
	if o.Look {
		if _, err := db.checkPages(ctx, "quick_check(1)", openCheckTime); err != nil {
			return nil, err
		}
	}
	if db.schemaFrom, _, err = db.names.migrate(ctx, db.writer, o.KeepSchema); err != nil {
		return nil, err
	}
	if o.Look {
		if db.damage.altered, err = db.names.altered(ctx, db.writer); err != nil {
			return nil, err
		}
	}
	go db.write()
	return db, nil
}

// checkPath rejects a path that would become a file with a strange name.
func checkPath(path string) error {
	switch {
	case path == "":
		return core.InvalidField("database", "", "must name a file", "belfry.db, say")
	case path == Memory:
		return core.InvalidField("database", path, "must name a file: nothing stays of a database in memory", "belfry.db, say")
	case strings.HasPrefix(path, "file:"):
		return core.InvalidField("database", path, "must be a path, and not a URI", "leave out file: and what follows a question mark; the path of a database in memory is "+Memory)
	}
	return nil
}

// followed returns the file that a path leads to. SQLite follows symbolic links, so the lock file is beside the file itself:
// two processes that use different paths find the same lock.
func followed(path string) string {
	for range 40 { // as many as Linux follows
		if file, err := filepath.EvalSymlinks(path); err == nil {
			return file
		}
		to, err := os.Readlink(path)
		if err != nil {
			return path // the file does not exist yet, or the open reports the error
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// lockPatience is the time to wait for a lock of a killed process that has not quite ended.
const lockPatience = time.Second

// takeLock locks a file beside the database. The lock ends with the process, so no clean-up is needed after a crash.
func (db *DB) takeLock(ctx context.Context) error {
	if err := makeFolder(filepath.Dir(db.path)); err != nil {
		return core.Errorf(core.Invalid, "make the folder of the database: %w", err)
	}
	db.lock = flock.New(db.path+".lock", flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	got, err := db.lock.TryLockContext(wait, 20*time.Millisecond)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && wait.Err() == nil {
		return core.Errorf(core.Invalid, "lock %s: %w", db.path, err).
			WithHint("the folder must exist and be writable")
	}
	if !got {
		return core.Errorf(core.Conflict, "another process, or another store of this one, has %s open", db.path).
			WithHint("share the store, talk to it with --server, or stop it first; for several nodes use PostgreSQL")
	}
	return nil
}

func (db *DB) connect(ctx context.Context, o Options) error {
	sync := strings.ToUpper(o.Synchronous)
	switch sync {
	case "":
		sync = "FULL"
	case "FULL", "NORMAL", "EXTRA":
	case "OFF":
		if db.temporary == "" {
			return core.InvalidField("synchronous", o.Synchronous, "must be FULL or NORMAL", "FULL")
		}
	default:
		return core.InvalidField("synchronous", o.Synchronous, "must be FULL or NORMAL", "FULL")
	}
	if err := createPrivate(db.path); err != nil {
		return core.Errorf(core.Invalid, "create %s: %w", db.path, err).
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
	db.readers = newReaders(db.reader, db.names)
	if !db.foreign {
		if db.users, err = sql.Open("sqlite", dsn(db.path, "synchronous("+sync+")", "busy_timeout(10000)", "foreign_keys(1)")+"&_txlock=immediate"); err != nil {
			return err
		}
		db.users.SetMaxOpenConns(1)
	}
	if err := db.writer.PingContext(ctx); err != nil {
		return core.Errorf(core.Invalid, "open %s: %w", db.path, err).
			WithHint("is it a SQLite file, and is the disk writable?")
	}
	return nil
}

// makeFolder creates a folder and its parents, and flushes their names. SQLite flushes the names in the folder of a file, but
// not the name of the folder.
func makeFolder(folder string) error {
	var missing []string
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil || runtime.GOOS == "windows" { // Windows cannot flush folders
		return err
	}
	for _, made := range slices.Backward(missing) {
		parent, err := os.Open(filepath.Dir(made))
		if err != nil {
			return err
		}
		if err := errors.Join(parent.Sync(), parent.Close()); err != nil {
			return err
		}
	}
	return nil
}

// createPrivate makes the file readable only by its owner: jobs have private inputs and outputs.
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

// Close waits for the transitions in progress, then closes the file. A second Close does nothing.
func (db *DB) Close() error { return db.close() }

func (db *DB) end() error {
	close(db.closing)
	<-db.done
	return db.release()
}

func (db *DB) release() error {
	var errs []error
	for range cap(db.readers) {
		(<-db.readers).discard()
	}
	for _, pool := range []*sql.DB{db.users, db.reader, db.writer} {
		if pool != nil && !(db.foreign && pool == db.users) {
			errs = append(errs, pool.Close())
		}
	}
	errs = append(errs, db.lock.Unlock())
	if db.temporary != "" {
		errs = append(errs, os.RemoveAll(db.temporary))
	}
	return errors.Join(errs...)
}

// SQL returns a connection to the file for users who keep their own tables in it and want to enqueue or finish in their
// transaction. While such a transaction is open, Belfry's own writes wait, up to ten seconds. For a store from [New] it is the
// handle that New was given.
func (db *DB) SQL() *sql.DB { return db.users }

// Adopt wraps the caller's transaction.
func (db *DB) Adopt(ctx context.Context, tx any) (base.Tx, base.Dialect, base.Moment, error) {
	t, ok := tx.(*sql.Tx)
	if !ok {
		return nil, nil, base.Moment{}, core.Errorf(core.Invalid, "a transaction of type %T cannot be joined on SQLite", tx).
			WithHint("pass a *sql.Tx on the same file")
	}
	if err := db.sameFile(ctx, t); err != nil {
		return nil, nil, base.Moment{}, err
	}
	return &handle{t, db.names}, foreign{}, base.Moment{Now: db.clock()}, nil
}

// Version returns the version of the database.
func (db *DB) Version(ctx context.Context) (string, error) {
	var v string
	err := db.ask(ctx, "select sqlite_version()", &v)
	return "sqlite " + v, err
}

// Schema returns the schema version of the file and the one known to this program.
func (db *DB) Schema(ctx context.Context) (core.Schema, error) {
	schema := core.Schema{Known: schemaKnown}
	if err := db.ask(ctx, "select coalesce(max(version), 0) from belfry.migrations", &schema.Version); err != nil {
		return schema, err
	}
	return schema, db.ask(ctx, base.FloorSQL, &schema.Floor)
}

// Alive reads from the file.
func (db *DB) Alive(ctx context.Context) error {
	_, err := db.Schema(ctx)
	return err
}

// Skew is always 0: the clock of the process decides.
func (db *DB) Skew(context.Context) (time.Duration, error) { return 0, nil }

// Wakeups carries nothing, because no other process may have the file.
func (db *DB) Wakeups() base.Wakeups { return alone{} }

type alone struct{}

func (alone) Mode() string       { return "in process" }
func (alone) Announce(...string) {}
func (alone) Run(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}

// handle is a snapshot or a caller's transaction, in the form for the store.
type handle struct {
	tx    *sql.Tx
	names prefix
}

func (h *handle) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := checkTexts(args); err != nil {
		return 0, err
	}
	res, err := h.tx.ExecContext(ctx, h.names.sql(query), args...)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, query)
	}
	return res.RowsAffected()
}

func (h *handle) Query(ctx context.Context, query string, args ...any) (base.Rows, error) {
	if err := checkTexts(args); err != nil {
		return nil, err
	}
	rows, err := h.tx.QueryContext(ctx, h.names.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, query)
	}
	return result{Rows: rows}, nil
}

type result struct {
	*sql.Rows
	fault *bool // the transition has failed
}

func (r result) Err() error {
	err := r.Rows.Err()
	if err != nil && r.fault != nil {
		*r.fault = true
	}
	return err
}

func (r result) Close() { _ = r.Rows.Close() }
