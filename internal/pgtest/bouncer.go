//go:build linux || darwin

package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// bouncerEnv names the only program to use.
const bouncerEnv = "BELFRY_PGBOUNCER"

const installBouncer = `These tests need PgBouncer and are never skipped. They start it themselves; only the program
must be installed:

	apt-get install -y --no-install-recommends pgbouncer

or "make setup", or set ` + bouncerEnv + ` to the program.`

// Bouncer starts PgBouncer in front of the server, in a pool mode such as
// "transaction" or "session". It returns a function that gives the address of a
// database through PgBouncer, which ends with the test.
func (s *Server) Bouncer(t testing.TB, mode string, settings ...string) func(database string) string {
	t.Helper()
	address, err := s.bounce(t, mode, settings)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (s *Server) bounce(t testing.TB, mode string, settings []string) (func(database string) string, error) {
	program, err := findBouncer()
	if err != nil {
		return nil, err
	}
	dir, err := makeFolder(s.who, false)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	conf := append([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%d user=postgres", s.dir, s.port),
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		"listen_port = " + strconv.Itoa(port),
		"unix_socket_dir =",
		"auth_type = any",
		"pool_mode = " + mode,
		"ignore_startup_parameters = extra_float_digits",
		"max_client_conn = 500",
		"logfile = " + filepath.Join(dir, "log"),
	}, settings...)
	ini := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(ini, []byte(strings.Join(conf, "\n")+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("pgtest: configure PgBouncer: %w", err)
	}
	if err := s.startBouncer(t, program, dir, ini); err != nil {
		return nil, err
	}
	address := func(database string) string {
		u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/" + database, RawQuery: "sslmode=disable"}
		return u.String()
	}
	return address, awaitBouncer(address("postgres"), filepath.Join(dir, "log"))
}

// startBouncer starts the program. It ends with the test, or with this process: a shell ends it when the shell's input is
// closed.
func (s *Server) startBouncer(t testing.TB, program, dir, ini string) error {
	cmd := exec.Command("/bin/sh", "-c", `"$0" "$1" & pid=$!; read -r line; kill -INT $pid 2>/dev/null; wait $pid`, program, ini)
	cmd.Dir, cmd.Env = dir, environment()
	cmd.SysProcAttr = s.sysProcAttr()
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("pgtest: start PgBouncer: %w", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // the error is only that of the last signal
	})
	return nil
}

func awaitBouncer(address, log string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			text, _ := os.ReadFile(log)
			return fmt.Errorf("pgtest: PgBouncer does not answer: %w\n%s", err, text)
		}
	}
}

func findBouncer() (string, error) {
	places := []string{os.Getenv(bouncerEnv)}
	if places[0] == "" {
		places = []string{"/usr/sbin/pgbouncer", "/usr/local/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"}
		if path, err := exec.LookPath("pgbouncer"); err == nil {
			places = append([]string{path}, places...)
		}
	}
	for _, place := range places {
		if executable(place) {
			return place, nil
		}
	}
	return "", fmt.Errorf("pgtest: found no PgBouncer at %s\n\n%s", strings.Join(places, ", "), installBouncer)
}
