package postgres_test

import (
	"testing"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/storetest"
)

// The plain claim path keeps every promise, and so does the fast one without its mechanisms.
func TestPlainClaims(t *testing.T) {
	for name, claims := range storetest.Claims {
		t.Run(name, func(t *testing.T) {
			opened := func(t *testing.T, o store.Options) *store.Store {
				t.Helper()
				o.Claims = claims
				return leasesFit(t, open(t, o))
			}
			storetest.Run(t, opened)
			t.Run("nodes", func(t *testing.T) { runNodes(t, 0, claims) })
			storetest.RunTx(t, opened, beginPgx)
		})
	}
}
