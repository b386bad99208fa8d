package pgtest

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// NoDeadlocks fails the test at its end if transactions of the database with this URL had a deadlock that the server ended.
// A store retries such a transaction, so the rest of the test may not notice the deadlock. Connections that the test opens
// after this call must be closed by a cleanup.
func NoDeadlocks(t testing.TB, url string) {
	t.Helper()
	t.Cleanup(func() {
		n, err := deadlocks(context.Background(), url)
		if err != nil {
			t.Errorf("pgtest: count deadlocks: %v", err)
		}
		if n > 0 {
			t.Errorf("deadlocks: got %d, want 0:%s", n, reports(url))
		}
	})
}

// deadlocks returns the number of deadlocks in a database. A session reports its counts when it ends.
func deadlocks(ctx context.Context, url string) (n int64, err error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return 0, err
	}
	name := cfg.Database
	cfg.Database = "postgres"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // a connection without a transaction
	for sessions := int64(1); sessions > 0; {
		if err := conn.QueryRow(ctx, `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1`, name).Scan(&sessions); err != nil {
			return 0, err
		}
	}
	return n, conn.QueryRow(ctx, `select deadlocks from pg_stat_database where datname = $1`, name).Scan(&n)
}

// reports returns the shared server's log of the deadlocks in a database.
func reports(url string) string {
	cfg, err := pgx.ParseConfig(url)
	if err != nil || shared.server == nil {
		return ""
	}
	var out strings.Builder
	in := false
	for line := range strings.Lines(shared.server.logFrom(0)) {
		if strings.HasPrefix(line, "20") { // a message begins with its time, and its further lines with a tab
			_, what, _ := strings.Cut(line, "] ")
			in = strings.HasPrefix(what, cfg.Database+" ERROR:  deadlock detected") || in && !strings.Contains(what, " LOG:") && !strings.Contains(what, " ERROR:")
		}
		if in {
			out.WriteString("\n" + strings.TrimRight(line, "\n"))
		}
	}
	return out.String()
}

// Deadlocks returns the number of deadlocks since the server was made. Unlike the server's own count, this number survives
// crashes.
func Deadlocks(s *Server) int {
	return strings.Count(s.logFrom(0), "deadlock detected")
}
