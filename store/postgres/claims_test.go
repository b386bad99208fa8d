package postgres_test

import (
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/storetest"
)

// The plain claim path keeps every promise, and so does the fast one without its mechanisms, and with each claim in a pack.
func TestClaimPaths(t *testing.T) {
	for _, path := range storetest.ClaimPaths {
		t.Run(path.Name, func(t *testing.T) {
			by := func(open storetest.Open) storetest.Open {
				return func(t *testing.T, o store.Options) *store.Store {
					t.Helper()
					o.PackFrom, o.Claims = path.Options.PackFrom, path.Options.Claims
					return leasesFit(t, open(t, o))
				}
			}
			path.Run(t, by(openReused))
			t.Run("nodes", func(t *testing.T) { runNodes(t, path.Options) })
			storetest.RunTx(t, by(open), beginPgx)
		})
	}
}
