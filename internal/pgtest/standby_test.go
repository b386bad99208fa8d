//go:build linux || darwin

package pgtest

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAStandbyFollowsAndIsPromoted(t *testing.T) {
	t.Parallel()
	primary := NewServer(t, Options{})
	standby := primary.Standby(t, "one")
	if err := primary.Replicate("one"); err != nil {
		t.Fatal(err)
	}
	run(t, connect(t, primary.URL("postgres")), "create table kept (n int)")
	if err := primary.Replicate(""); err != nil {
		t.Fatal(err)
	}
	if err := standby.CutOff(); err != nil {
		t.Fatal(err)
	}
	run(t, connect(t, primary.URL("postgres")), "create table lost (n int)")
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted, zombie := connect(t, standby.URL("postgres")), connect(t, primary.URL("postgres"))
	run(t, promoted, "create table after (n int)")
	const names = "select string_agg(relname, ' ' order by relname) from pg_class where relname in ('kept', 'lost', 'after')"
	if got := ask[string](t, promoted, names); got != "after kept" {
		t.Errorf("rows of the promoted server: got %s", got)
	}
	if got := ask[string](t, zombie, names); got != "kept lost" {
		t.Errorf("rows of the old primary: got %s", got)
	}
}

func TestABouncerPoolsByTransaction(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{})
	conn := connect(t, s.Bouncer(t, "transaction")("postgres"))
	if pid := ask[uint32](t, conn, "select pg_backend_pid()"); pid == conn.PgConn().PID() {
		t.Errorf("connection: got process %d of the server, want PgBouncer", pid)
	}
}

func TestAMissingBouncerSaysHowToGetIt(t *testing.T) {
	t.Setenv(bouncerEnv, filepath.Join(t.TempDir(), "nowhere"))
	if _, err := findBouncer(); err == nil || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("missing PgBouncer: got error %v", err)
	}
}
