package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// everyday are names that the store's tables have and an application's may have.
var everyday = []string{"jobs", "jobs_done", "tasks", "queues", "sessions", "leases", "packs", "attempts", "tokens", "schedules", "job_keys", "requirements", "migrations", "sequences"}

const waiting = "?_pragma=busy_timeout(10000)&_txlock=immediate"

// appHandle is a handle of an application with tables of its own.
func appHandle(t *testing.T, conns int) *sql.DB {
	t.Helper()
	db := handleOn(t, file(t), waiting)
	db.SetMaxOpenConns(conns)
	for _, name := range everyday {
		if _, err := db.Exec("create table " + name + " (own text); create index " + name + "_ready on " + name + " (own)"); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func handleOn(t *testing.T, path, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Whatever tables the caller has in the file, the store finds its own.
func TestTxBesideOwnTables(t *testing.T) {
	for _, prefix := range []string{"", "bells_"} {
		for _, conns := range []int{0, 1} {
			t.Run(fmt.Sprintf("prefix %s, %d connections", prefix, conns), func(t *testing.T) {
				storetest.RunTx(t, func(t *testing.T, o store.Options) *store.Store {
					handle := appHandle(t, conns)
					st, err := sqlite.New(t.Context(), handle, sqlite.Options{Options: o, Prefix: prefix, Synchronous: "NORMAL"})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if err := st.Close(); err != nil {
							t.Error(err)
						}
						for _, name := range everyday { // the handle is open after the store
							var n int
							if err := handle.QueryRow("select count(*) from " + name).Scan(&n); err != nil || n > 0 {
								t.Errorf("%d rows were written to %s, %v", n, name, err)
							}
						}
					})
					return st
				}, func(t *testing.T, st *store.Store) storetest.UserTx {
					t.Helper()
					return userTx(t, st.DB().(*sqlite.DB).SQL())
				})
			})
		}
	}
}

// The caller's transactions and the store's writes wait for each other.
func TestOwnHandleBesideTheWriter(t *testing.T) {
	handle := appHandle(t, 4)
	before := settings(t, handle)
	st, err := sqlite.New(t.Context(), handle, sqlite.Options{Synchronous: "NORMAL"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // closing again does nothing
	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	const each, rounds = 4, 25
	var all sync.WaitGroup
	errs := make(chan error, 2*each*rounds)
	for range each {
		all.Go(func() {
			for range rounds {
				_, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}})
				errs <- err
			}
		})
		all.Go(func() {
			for range rounds {
				tx, err := handle.BeginTx(t.Context(), nil)
				if err == nil {
					_, err = tx.Exec("insert into " + everyday[2] + " (own) values ('mine')")
				}
				if err == nil {
					_, err = st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t"}})
				}
				if err == nil {
					err = tx.Commit()
				}
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	jobs, err := st.CountJobs(t.Context(), job.Filter{}, view.CountOptions{})
	if err != nil || jobs.Count != 2*each*rounds {
		t.Errorf("%d jobs, want %d, %v", jobs.Count, 2*each*rounds, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if after := settings(t, handle); !slices.Equal(before, after) {
		t.Errorf("the handle's connections had %q and have %q", before, after)
	}
}

func settings(t *testing.T, handle *sql.DB) (all []string) {
	t.Helper()
	for _, name := range []string{"busy_timeout", "foreign_keys", "query_only", "synchronous", "cache_size", "wal_autocheckpoint"} {
		var value string
		if err := handle.QueryRow("pragma " + name).Scan(&value); err != nil {
			t.Fatal(err)
		}
		all = append(all, name+"="+value)
	}
	return all
}

func TestHandlesThatCannotServeAreRefused(t *testing.T) {
	refused := func(handle *sql.DB, o sqlite.Options, code core.Code, words ...string) {
		t.Helper()
		_, err := sqlite.New(t.Context(), handle, o)
		wantCode(t, err, code, words...)
	}
	refused(nil, sqlite.Options{}, core.Invalid, "handle", "nil")
	refused(handleOn(t, ":memory:", waiting), sqlite.Options{}, core.Invalid, "in memory")
	refused(handleOn(t, file(t), ""), sqlite.Options{}, core.Invalid, "no busy timeout")
	refused(sql.OpenDB(strange{}), sqlite.Options{}, core.Invalid, "modernc.org/sqlite")
	closed := handleOn(t, file(t), waiting)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.New(t.Context(), closed, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	for _, prefix := range []string{"sqlite_", "Belfry", "a-", "1", strings.Repeat("a", 41)} {
		refused(handleOn(t, file(t), waiting), sqlite.Options{Prefix: prefix}, core.Invalid, "prefix", "must")
	}

	handle := handleOn(t, file(t), waiting)
	st, err := sqlite.New(t.Context(), handle, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // of a test
	refused(handle, sqlite.Options{}, core.Conflict, "another store of this one")
	refused(handle, sqlite.Options{Prefix: "other_"}, core.Conflict, "another store of this one")
	other, err := handleOn(t, file(t), waiting).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback() //nolint:errcheck // of a test
	_, err = st.EnqueueTx(t.Context(), other, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	wantCode(t, err, core.Invalid, "transaction is on")
}

// strange is a driver that is none of SQLite.
type strange struct{}

func (strange) Connect(context.Context) (driver.Conn, error) { return strange{}, nil }
func (strange) Driver() driver.Driver                        { return nil }
func (strange) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (strange) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (strange) Close() error                                 { return nil }

// Stores of different prefixes have nothing in common but the file.
func TestTwoPrefixesInOneFile(t *testing.T) {
	path := file(t)
	for i, prefix := range []string{"", "other_", "", "other_"} {
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := st.CountJobs(t.Context(), job.Filter{}, view.CountOptions{})
		if err != nil || jobs.Count != i/2 {
			t.Errorf("opening %d finds %d jobs, %v", i, jobs.Count, err)
		}
		if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}}); err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What looks like an address of SQLite is refused, and no file is called so.
func TestAPathIsNoAddress(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"", "file::memory:", "file:x.db?mode=memory&cache=shared", "file:///x.db"} {
		if st, err := sqlite.Open(t.Context(), path, sqlite.Options{}); core.CodeOf(err) != core.Invalid {
			t.Errorf("open %q: %v, %v", path, st, err)
		}
	}
	if _, _, err := sqlite.Migrate(t.Context(), sqlite.Memory); core.CodeOf(err) != core.Invalid {
		t.Errorf("migrate in memory: %v", err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("files: %v, %v", left, err)
	}
}

// A store opens behind a process that is just ending.
func TestALockMayBeLetGoOf(t *testing.T) {
	t.Parallel()
	path := file(t)
	held := flock.New(path + ".lock")
	if got, err := held.TryLock(); err != nil || !got {
		t.Fatal(got, err)
	}
	var opening sync.WaitGroup
	opening.Go(func() {
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
	opening.Wait()
}

// A store in memory begins empty, leaves nothing, and does what one in a file does.
func TestMemory(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Chdir(t.TempDir())
	var stores []*store.Store
	for range 2 {
		st, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, st)
		if jobs, err := st.CountJobs(t.Context(), job.Filter{}, view.CountOptions{}); err != nil || jobs.Count != 0 {
			t.Errorf("a new one has %d jobs, %v", jobs.Count, err)
		}
		tx, err := st.DB().(*sqlite.DB).SQL().Begin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
		if err := errors.Join(err, tx.Commit()); err != nil {
			t.Error(err)
		}
	}
	for _, st := range stores {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, dir := range []string{temporary, "."} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(temporary, "nowhere"))
	_, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	wantCode(t, err, core.Unavailable, "temporary")
}
