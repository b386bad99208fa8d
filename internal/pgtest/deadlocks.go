package pgtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// NoDeadlocks fails the test at its end if transactions of the database with this URL, on the server that the tests of this
// process share, had a deadlock that the server ended. A store retries such a transaction, so the rest of the test may not
// notice the deadlock.
func NoDeadlocks(t testing.TB, url string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	noDeadlocks(t, server(t), cfg.Database)
}

func noDeadlocks(t testing.TB, s *Server, database string) {
	t.Helper()
	from := logSize(s)
	t.Cleanup(func() {
		if all := deadlocks(s, database, from); len(all) > 0 {
			t.Errorf("deadlocks: got %d, want 0:\n%s", len(all), strings.Join(all, "\n"))
		}
	})
}

// deadlocks returns what the log of a server says of the deadlocks in a database from an offset on. The server logs a deadlock before it
// tells the client.
func deadlocks(s *Server, database string, from int64) (all []string) {
	in := false
	for line := range strings.Lines(s.logFrom(from)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "20") { // a message begins with its time, and its further lines with a tab
			_, what, _ := strings.Cut(line, "] ")
			begins := strings.HasPrefix(what, database+" ERROR:  deadlock detected")
			if begins {
				all = append(all, "")
			}
			in = begins || in && !strings.Contains(what, " LOG:") && !strings.Contains(what, " ERROR:")
		}
		if in {
			all[len(all)-1] += line + "\n"
		}
	}
	return all
}

// Deadlocks returns the number of deadlocks since the server was made. Unlike the server's own count, this number survives
// crashes.
func Deadlocks(s *Server) int {
	return strings.Count(s.logFrom(0), "deadlock detected")
}
