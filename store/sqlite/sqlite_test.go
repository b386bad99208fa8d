package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	// The suite writes thousands of small transactions; what FULL adds to them
	// is a disk flush each, and what it promises is shown by its own test.
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: o, Synchronous: "NORMAL"})
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
