package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

// The cost is the pages of jobs and its indexes that were looked at. A connection
// tells its counts when it ends at the latest.
func TestCannotRun(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	// A vacuum of the table looks at 14,000 pages beside the test's 700, and the server begins one when it likes.
	if _, err := conn.Exec(t.Context(), "alter table belfry.jobs set (autovacuum_enabled = false)"); err != nil {
		t.Fatal(err)
	}
	number := func(query string) (n int64) {
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	pages := func() int64 {
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for number(`select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`) > 0 {
			<-again.C
		}
		return number(`select coalesce(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit, 0) from pg_statio_user_tables where relname = 'jobs'`)
	}
	open := func() *store.Store {
		st, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	storetest.CannotRun(t, open, 200_000, 100, pages, func(n int) string { return fmt.Sprintf("generate_series(1, %d) as n", n) })
}
