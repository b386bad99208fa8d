package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
)

// told counts what is announced, with the commit of a transition or by itself.
func told(all []string) (along, alone int) {
	for _, s := range all {
		switch {
		case !strings.Contains(s, "pg_notify"):
		case strings.Contains(s, "insert into belfry.jobs") && strings.HasSuffix(s, "commit"):
			along++
		default:
			alone++
		}
	}
	return along, alone
}

func TestAnIdleNodeAnnouncesWithTheCommit(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	st, c := traced(t, dsn, postgres.Options{})
	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	hears, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hears.Close(t.Context()) })
	if _, err := hears.Exec(t.Context(), "listen belfry"); err != nil {
		t.Fatal(err)
	}
	c.take()
	enqueue(t, st, "t")
	n, err := hears.WaitForNotification(t.Context())
	if err != nil || !strings.Contains(n.Payload, "queue:default") {
		t.Errorf("heard %+v, %v", n, err)
	}
	if along, alone := told(c.take()); along != 1 || alone != 0 {
		t.Errorf("an idle node announced %d times with a commit and %d times alone", along, alone)
	}

	postgres.AnnouncesNoSooner(st.DB(), time.Now().Add(time.Hour))
	enqueue(t, st, "t")
	if along, _ := told(c.take()); along != 0 {
		t.Error("a busy node announced with a commit")
	}

	postgres.AnnouncesNoSooner(st.DB(), time.Time{})
	if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}, {Task: "missing"}}); core.CodeOf(err) != core.NotFound {
		t.Fatal(err)
	}
	if along, alone := told(c.take()); along+alone != 0 {
		t.Error("what was taken back was announced")
	}
	enqueue(t, st, "t")
	if next := postgres.AnnouncesFrom(st.DB()); !next.After(time.Now()) {
		t.Errorf("a commit with an announcement was not counted: the next from %s on", next)
	}
}

// linesOf is a log whose lines a test waits for.
type linesOf chan string

func (l linesOf) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestANodeSaysThatWakeUpsAreBack has the connection that hears ended by the server.
func TestANodeSaysThatWakeUpsAreBack(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	lines := make(linesOf, 1000)
	st, err := postgres.Open(t.Context(), dsn, postgres.Options{Options: store.Options{Logger: slog.New(slog.NewTextHandler(lines, nil))}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- st.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = st.Close()
	})
	says := func(text string) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case line := <-lines:
				if strings.Contains(line, text) {
					return
				}
			case <-deadline:
				t.Fatalf("the log never said %q", text)
			}
		}
	}
	admin, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	for range 2 {
		for n := 0; n == 0; { // it may not listen yet
			err := admin.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
				where datname = current_database() and query like 'listen %' and pid <> pg_backend_pid()`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
		}
		says("wake-ups interrupted")
		says("wake-ups work again")
	}
}
