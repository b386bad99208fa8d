package postgres_test

import (
	"os"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), pgtest.New(t), postgres.Options{Options: o, MaxConns: 4})
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
