package postgres_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	return openAt(t, pgtest.New(t), postgres.Options{Options: o})
}

func openAt(t *testing.T, dsn string, o postgres.Options) *store.Store {
	t.Helper()
	if o.MaxConns == 0 {
		o.MaxConns = 4
	}
	st, err := postgres.Open(t.Context(), dsn, o)
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
		dsn := pgtest.New(t)
		open := func() *store.Store { return openAt(t, dsn, postgres.Options{Options: o}) }
		return []*store.Store{open(), open(), open()}
	})
}

func TestTx(t *testing.T) {
	t.Run("pgx", func(t *testing.T) {
		storetest.RunTx(t, open, func(t *testing.T, st *store.Store) storetest.UserTx {
			t.Helper()
			tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return storetest.UserTx{
				Tx:       tx,
				Exec:     func(statement string) error { _, err := tx.Exec(t.Context(), statement); return err },
				Commit:   func() error { return tx.Commit(t.Context()) },
				Rollback: func() error { return tx.Rollback(t.Context()) },
			}
		})
	})
	t.Run("database/sql", func(t *testing.T) {
		storetest.RunTx(t, open, func(t *testing.T, st *store.Store) storetest.UserTx {
			t.Helper()
			db := stdlib.OpenDBFromPool(st.DB().(*postgres.DB).Pool())
			t.Cleanup(func() { _ = db.Close() })
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return storetest.UserTx{
				Tx:       tx,
				Exec:     func(statement string) error { _, err := tx.Exec(statement); return err },
				Commit:   tx.Commit,
				Rollback: tx.Rollback,
			}
		})
	})
}

// TestBehindPooler runs the worker's part of the suite as it would run behind
// a pooler in transaction mode: nothing that a session remembers survives the
// end of a transaction, and nothing is prepared.
func TestBehindPooler(t *testing.T) {
	storetest.RunBroker(t, func(t *testing.T) (belfry.Broker, storetest.Admin) {
		clock := storetest.NewClock()
		st, err := postgres.OpenForgetful(t.Context(), pgtest.New(t), postgres.Options{Options: store.Options{Clock: clock.Now}, SimpleProtocol: true, Wakeups: "poll", MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st, storetest.NewAdmin(st, clock)
	})
}
