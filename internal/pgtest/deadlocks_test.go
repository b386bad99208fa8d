package pgtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestDeadlocksAreCounted(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{})
	url := s.New(t)
	deadlock := func() {
		a, b := connect(t, url), connect(t, url)
		run(t, a, "create table if not exists rooms (n int); delete from rooms; insert into rooms values (1), (2)")
		run(t, a, "begin; set local deadlock_timeout = '1h'; update rooms set n = n where n = 1")
		run(t, b, "begin; set local deadlock_timeout = '10ms'; update rooms set n = n where n = 2")
		waiter := ask[int](t, a, "select pg_backend_pid()")
		other := make(chan error, 1)
		go func() {
			_, err := a.Exec(t.Context(), "update rooms set n = n where n = 2")
			other <- err
		}()
		// A session looks for deadlocks once in a wait. If b looked before a waits, both would wait for an hour.
		for ask[bool](t, b, fmt.Sprintf("select cardinality(pg_blocking_pids(%d)) = 0", waiter)) {
			time.Sleep(time.Millisecond)
		}
		if _, err := b.Exec(t.Context(), "update rooms set n = n where n = 1"); err == nil {
			t.Error("b has no deadlock")
		}
		if err := <-other; err != nil {
			t.Error(err)
		}
		run(t, a, "rollback")
		run(t, b, "rollback")
	}
	for Deadlocks(s) == 0 {
		deadlock()
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if all := deadlocks(s, cfg.Database, 0); len(all) != 1 || !strings.Contains(all[0], "update rooms set n = n where n = 1") {
		t.Errorf("deadlocks of the database: got %q, want one with its statement", all)
	}
	for what, all := range map[string][]string{"another database": deadlocks(s, "another", 0), "after it": deadlocks(s, cfg.Database, logSize(s))} {
		if len(all) > 0 {
			t.Errorf("deadlocks of %s: got %q, want none", what, all)
		}
	}
}
