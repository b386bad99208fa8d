package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/internal/memory"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(secondEnv); path != "" {
		os.Exit(second(path))
	}
	if load := os.Getenv(loadEnv); load != "" {
		os.Exit(loadFromEnv(load))
	}
	memory.Use()
	os.Exit(m.Run())
}

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	return openWith(t, sqlite.Options{Options: o})
}

func openWith(t *testing.T, o sqlite.Options) *store.Store {
	t.Helper()
	// The suite writes thousands of small transactions; what FULL adds to them
	// is a disk flush each, and what it promises is shown by its own test.
	path := filepath.Join(t.TempDir(), "belfry.db")
	schema, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, schema, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Synchronous = "NORMAL"
	return openAt(t, path, o)
}

// migrated is a file with the schema and nothing else. Hundreds of cases begin
// with one, and to make it takes ten times what all else does to open it.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "belfry")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "belfry.db")
	if _, _, err := sqlite.Migrate(context.Background(), path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openAt(t *testing.T, path string, o sqlite.Options) *store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// openPacking packs the leases of each claim, as far as they can be, and looks
// at the end whether leases, packs and jobs fit together.
func openPacking(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	o.PackFrom = 1
	st := open(t, o)
	t.Cleanup(func() { checkLeases(t, st) })
	return st
}

func checkLeases(t *testing.T, st *store.Store) {
	t.Helper()
	for what, query := range map[string]string{
		"packs that have miscounted":           `select count(*) from belfry.packs p where living <> (select count(*) from belfry.packed where belfry.packed.number = p.number)`,
		"packs without a job":                  `select count(*) from belfry.packs where living <= 0`,
		"jobs with two leases":                 `select count(*) from (select job_id from belfry.running group by job_id having count(*) > 1)`,
		"leases without a job":                 `select count(*) from belfry.leases where not exists (select 1 from belfry.jobs where id = job_id)`,
		"leases older than one that has ended": `select count(*) from belfry.running join belfry.jobs on id = job_id where number <= lease`,
		"lists that are not in order": `select count(*) from belfry.packs where (first_job, last_job, jobs) is not (
			select min(value), max(value), ',' || group_concat(value, ',') || ',' from (select value from json_each('[' || trim(jobs, ',') || ']') order by value))`,
	} {
		if n := count(t, st, query); n > 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// named gives a text the names that the file has, for what does not go through
// the store.
func named(query string) string { return strings.ReplaceAll(query, base.Home, "belfry_") }

func count(t *testing.T, st *store.Store, query string) (n int) {
	t.Helper()
	if err := st.DB().(*sqlite.DB).SQL().QueryRow(named(query)).Scan(&n); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return n
}

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestNodes(t *testing.T) { storetest.RunNodes(t, nodesOf(open)) }

// nodesOf opens the nodes of a file. It belongs to one process: its goroutines are the crowd.
func nodesOf(open storetest.Open) storetest.OpenNodes {
	return func(t *testing.T, o store.Options) []*store.Store {
		t.Helper()
		st := open(t, o)
		return []*store.Store{st, st}
	}
}

func TestTx(t *testing.T) {
	for name, open := range map[string]storetest.Open{"rows": open, "packs": openPacking} {
		t.Run(name, func(t *testing.T) {
			storetest.RunTx(t, open, func(t *testing.T, st *store.Store) storetest.UserTx {
				t.Helper()
				return userTx(t, st.DB().(*sqlite.DB).SQL())
			})
		})
	}
}

func userTx(t *testing.T, db *sql.DB) storetest.UserTx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) error { _, err := tx.Exec(statement); return err }
	return storetest.UserTx{Tx: tx, Exec: exec, Commit: tx.Commit, Rollback: tx.Rollback}
}
