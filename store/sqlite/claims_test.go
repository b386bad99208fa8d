package sqlite_test

import (
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

// The plain claim path keeps every promise, and so does the fast one without its mechanisms, and with each claim in a pack.
// Without packs the writer has no mechanisms either.
func TestClaimPaths(t *testing.T) {
	for _, path := range storetest.ClaimPaths {
		t.Run(path.Name, func(t *testing.T) {
			plain := path.Options.PackFrom == 0
			opened := func(t *testing.T, o store.Options) *store.Store {
				t.Helper()
				st := openWith(t, sqlite.Options{Options: o, NoGroups: plain, NoBatches: plain})
				t.Cleanup(func() { checkLeases(t, st) })
				return st
			}
			path.Run(t, opened)
			t.Run("nodes", func(t *testing.T) { path.RunNodes(t, nodesOf(opened)) })
			storetest.RunTx(t, path.On(opened), func(t *testing.T, st *store.Store) storetest.UserTx {
				t.Helper()
				return userTx(t, st.DB().(*sqlite.DB).SQL())
			})
		})
	}
}
