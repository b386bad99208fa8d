// Package both runs a test on a new store of each database. Tests of packages below store use it; the two databases must give
// the same result.
package both

import (
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
)

// Run runs a test on each database, with the default options.
func Run(t *testing.T, test func(t *testing.T, st *store.Store)) {
	t.Helper()
	With(t, store.Options{}, test)
}

// With is [Run] with options. The package of the test calls [pgtest.Main] in its TestMain.
func With(t *testing.T, o store.Options, test func(t *testing.T, st *store.Store)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (*store.Store, error){
		"sqlite": func(t *testing.T) (*store.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Options: o})
		},
		"postgres": func(t *testing.T) (*store.Store, error) {
			return postgres.Open(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Options: o})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			test(t, st)
		})
	}
}
