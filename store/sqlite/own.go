package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store"
)

// New is Open on the file of the caller's handle. Close of the store leaves the handle open.
//
// The store opens its own connections to the file, for writing and reading, and uses none of the handle's. The settings of the
// handle stay as they are, and it may allow a single connection. The handle is for the caller's transactions. A transaction
// with [jobs.Store.EnqueueTx] waits for the store's writes, and these wait for it. So it needs a busy timeout, which New
// checks, and it must begin as a writer:
//
//	sql.Open("sqlite", "file:app.db?_pragma=busy_timeout(10000)&_txlock=immediate")
//
// The driver is modernc.org/sqlite. The file gets a write-ahead log, which stays with it, and a lock file beside it. Only one
// process and one store has the file open at a time. A handle in memory is rejected, because a second connection does not see
// its data. Tests open [Memory] and use [DB.SQL].
func New(ctx context.Context, handle *sql.DB, o Options) (*store.Store, error) {
	if handle == nil {
		return nil, core.InvalidField("handle", "", "must not be nil", "make one with sql.Open")
	}
	path, err := fileOf(ctx, handle)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, path, o, "", handle)
	if err != nil {
		return nil, err
	}
	return db.storeOf(ctx, o)
}

// fileOf returns the file of a handle, read on one of its connections.
func fileOf(ctx context.Context, handle *sql.DB) (path string, err error) {
	conn, err := handle.Conn(ctx)
	if err != nil {
		return "", translate(fmt.Errorf("take a connection of the handle: %w", err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.Raw(func(driver any) error {
		if _, ok := driver.(sqlite.FileControl); !ok {
			return core.Errorf(core.Invalid, "handle must be of the driver modernc.org/sqlite, and its connections are %T", driver)
		}
		return nil
	}); err != nil {
		return "", err
	}
	var timeout int
	if err := conn.QueryRowContext(ctx, "pragma busy_timeout").Scan(&timeout); err != nil {
		return "", translate(err)
	}
	if path, err = mainFile(ctx, conn.QueryRowContext); err != nil {
		return "", translate(err)
	}
	if path == "" {
		return "", core.Errorf(core.Invalid, "handle must be of a file, and it is of a database in memory").
			WithHint("in tests open the store with sqlite.Memory and use the handle of its SQL method")
	}
	if timeout == 0 {
		return "", core.Errorf(core.Invalid, "connections of the handle must wait for each other, and have no busy timeout").
			WithHint("add _pragma=busy_timeout(10000)&_txlock=immediate to its address")
	}
	return path, nil
}

// mainFile returns the file of a connection, or "" for a database in memory.
func mainFile(ctx context.Context, row func(context.Context, string, ...any) *sql.Row) (path string, err error) {
	err = row(ctx, "select file from pragma_database_list where name = 'main'").Scan(&path)
	return path, err
}

// sameFile returns nil if a transaction is on the store's own file. Another file may also have tables with these names.
func (db *DB) sameFile(ctx context.Context, tx *sql.Tx) error {
	path, err := mainFile(ctx, tx.QueryRowContext)
	if err != nil {
		return translate(err)
	}
	ours, err := os.Stat(db.path)
	if err != nil {
		return core.Errorf(core.Unavailable, "look at the database: %w", err)
	}
	if theirs, err := os.Stat(path); err != nil || !os.SameFile(ours, theirs) {
		return core.Errorf(core.Invalid, "transaction is on %s, and the store is on %s", path, db.path).
			WithHint("begin it on a handle of the same file, such as that of the store's SQL method")
	}
	return nil
}
