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
			fits := func(t *testing.T, o store.Options) *store.Store {
				t.Helper()
				return leasesFit(t, openReused(t, o))
			}
			path.Run(t, fits)
			t.Run("nodes", func(t *testing.T) { path.RunNodes(t, openNodes) })
			storetest.RunTx(t, path.On(fits), beginPgx)
		})
	}
}
