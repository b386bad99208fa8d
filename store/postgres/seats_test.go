package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
)

// backend is the process of the server that carries out a transition of a name,
// in which more may be done.
func backend(t *testing.T, db base.DB, name string, more ...func()) (pid int64) {
	t.Helper()
	err := db.(base.Foreseer).WriteAhead(t.Context(), name, nil, func(tx base.Tx, _ base.Moment) error {
		rows, err := tx.Query(t.Context(), `select pg_backend_pid()`)
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			err = rows.Scan(&pid)
		}
		rows.Close()
		for _, fn := range more {
			fn()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func keeping(t *testing.T, idle time.Duration, conns int) (*store.Store, base.DB) {
	t.Helper()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{MaxConns: conns})
	postgres.KeepIdle(st.DB(), idle)
	return st, st.DB()
}

func inUse(db base.DB) int { return int(db.(*postgres.DB).Pool().Stat().AcquiredConns()) }

func TestMoreOfTheSameIsDoneByTheConnectionThatDidIt(t *testing.T) {
	t.Parallel()
	_, db := keeping(t, time.Hour, 8)
	claims := backend(t, db, "claim")
	var second, first int64
	first = backend(t, db, "finish", func() { second = backend(t, db, "finish") })
	if claims == first || claims == second || first == second {
		t.Fatalf("claims by %d, finishes by %d and %d", claims, first, second)
	}
	for range 3 {
		if other := backend(t, db, "fire"); other == claims || other == first || other == second {
			t.Errorf("%d, kept for something else, was asked to fire", other)
		}
		if again := backend(t, db, "claim"); again != claims {
			t.Errorf("claims by %d, and then by %d", claims, again)
		}
		var inner int64
		if outer := backend(t, db, "finish", func() { inner = backend(t, db, "finish") }); min(inner, outer) != min(first, second) || max(inner, outer) != max(first, second) {
			t.Errorf("finishes by %d and %d, and then by %d and %d", first, second, outer, inner)
		}
	}
	if n := inUse(db); n != 3 {
		t.Errorf("%d connections are kept", n)
	}
}

func TestAConnectionThatNobodyUsesGoesBack(t *testing.T) {
	t.Parallel()
	_, db := keeping(t, time.Millisecond, 8)
	backend(t, db, "claim")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for inUse(db) > 0 {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal("it is kept")
		}
	}
}

// Whoever needs a connection gets one, although it is kept for something else.
func TestKeptConnectionsAreNotMissed(t *testing.T) {
	t.Parallel()
	st, db := keeping(t, time.Hour, 4)
	claims := backend(t, db, "claim")
	var last int64
	backend(t, db, "a", func() {
		backend(t, db, "b", func() {
			backend(t, db, "c", func() { last = backend(t, db, "d") })
		})
	})
	if last != claims {
		t.Errorf("%d, and not %d that was kept", last, claims)
	}
	backend(t, db, "claim")
	backend(t, db, "a", func() {
		backend(t, db, "b", func() {
			backend(t, db, "c", func() {
				if _, err := st.Queues(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	})
	backend(t, db, "a", func() {
		backend(t, db, "b", func() { backend(t, db, "claim") })
		if n := inUse(db); n > 2 {
			t.Errorf("%d of 4 connections are in use, two of them kept where the pool had few left", n)
		}
	})
}

func TestAStoreClosesWithConnectionsKept(t *testing.T) {
	t.Parallel()
	st, db := keeping(t, time.Hour, 8)
	backend(t, db, "claim", func() { backend(t, db, "finish") })
	if err := st.Close(); err != nil { // it waits for what is in use
		t.Fatal(err)
	}
	if n := inUse(db); n != 0 {
		t.Errorf("%d are in use", n)
	}
}

// A connection that was cut while it was kept is replaced.
func TestAKeptConnectionMayBeCut(t *testing.T) {
	t.Parallel()
	st, db := keeping(t, time.Hour, 8)
	claims := backend(t, db, "claim")
	if n := number(t, st, `select count(*) from (select pg_terminate_backend($1::int, 10000)) as ended`, claims); n != 1 {
		t.Fatal("it was not cut")
	}
	if again := backend(t, db, "claim"); again == claims {
		t.Error("by the process that was ended")
	}
}
