package sqlite_test

import (
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/store/storetest"
)

// The plain claim path keeps every promise, and so does the fast one without its mechanisms. The writer has none either.
func TestPlainClaims(t *testing.T) {
	for name, claims := range storetest.Claims {
		t.Run(name, func(t *testing.T) {
			opened := func(t *testing.T, o store.Options) *store.Store {
				t.Helper()
				o.Claims = claims
				st := openWith(t, sqlite.Options{Options: o, NoGroups: true, NoBatches: true})
				t.Cleanup(func() { checkLeases(t, st) })
				return st
			}
			storetest.Run(t, opened)
			t.Run("nodes", func(t *testing.T) { runNodes(t, opened) })
			storetest.RunTx(t, opened, func(t *testing.T, st *store.Store) storetest.UserTx {
				t.Helper()
				return userTx(t, st.DB().(*sqlite.DB).SQL())
			})
		})
	}
}
