package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(secondEnv); path != "" {
		os.Exit(second(path))
	}
	os.Exit(m.Run())
}

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	// The suite writes thousands of small transactions; what FULL adds to them
	// is a disk flush each, and what it promises is shown by its own test.
	return openAt(t, filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: o, Synchronous: "NORMAL"})
}

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

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestNodes(t *testing.T) {
	storetest.RunNodes(t, func(t *testing.T, o store.Options) []*store.Store {
		st := open(t, o) // the file belongs to one process: its goroutines are the crowd
		return []*store.Store{st, st}
	})
}

func TestTx(t *testing.T) {
	storetest.RunTx(t, open, func(t *testing.T, st *store.Store) storetest.UserTx {
		t.Helper()
		return userTx(t, st.DB().(*sqlite.DB).SQL())
	})
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
