//go:build linux || darwin

package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/leaks"
)

// victimEnv makes the test binary play the test process that dies: see TestServerEndsWithTheProcess.
const victimEnv = "BELFRY_PGTEST_VICTIM"

func TestMain(m *testing.M) {
	if how := os.Getenv(victimEnv); how != "" {
		victim(how)
	}
	code := Main(m)
	if err := leaks.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func ask[T any](t *testing.T, conn *pgx.Conn, query string) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func TestEveryTestHasItsOwnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("tenant of the Château № 1", func(t *testing.T) {
			t.Parallel()
			conn := connect(t, New(t))
			run(t, conn, "create table rooms (n int)")
			if n := ask[int](t, conn, "select count(*) from rooms"); n != 0 {
				t.Errorf("rows of a fresh table: got %d, want 0", n)
			}
		})
	}
}

func TestOneTestMayHaveSeveralDatabases(t *testing.T) {
	t.Parallel()
	if a, b := New(t), New(t); a == b {
		t.Errorf("names of two databases: got %s twice", a)
	}
}

func TestDatabasesAreDroppedWithWhoeverIsConnected(t *testing.T) {
	t.Parallel()
	var idle *pgx.Conn
	var name string
	t.Run("tenant", func(t *testing.T) {
		var err error
		if idle, err = pgx.Connect(t.Context(), New(t)); err != nil {
			t.Fatal(err)
		}
		name = ask[string](t, idle, "select current_database()")
	})
	defer idle.Close(t.Context())
	if err := idle.Ping(t.Context()); err == nil {
		t.Error("the connection outlived its database")
	}
	left := ask[int](t, connect(t, New(t)), "select count(*) from pg_database where datname = '"+name+"'")
	if left != 0 {
		t.Errorf("database %s: not removed", name)
	}
}

func TestDatabaseNamesNeedNoQuotes(t *testing.T) {
	var s Server
	for test, want := range map[string]string{
		"TestClaim":                         "t1_claim",
		"TestClaim/two nodes; drop \"x\"":   "t1_claim_two_nodes__drop__x_",
		"BenchmarkÉté":                      "t1_benchmark_t_",
		"Test" + strings.Repeat("long", 40): "t1_" + strings.Repeat("long", 10),
	} {
		s.last.Store(0)
		if got := s.databaseName(test); got != want {
			t.Errorf("%s: got %s, want %s", test, got, want)
		}
	}
}

func TestBothAddressesLeadToTheSameDatabase(t *testing.T) {
	t.Parallel()
	New(t) // starts the shared server
	s := shared.server
	for _, url := range []string{s.URL("postgres"), s.SocketURL("postgres")} {
		conn := connect(t, url)
		if dir := ask[string](t, conn, "show data_directory"); dir != s.data() {
			t.Errorf("data folder at %s: got %s, want %s", url, dir, s.data())
		}
	}
	if host, _, err := net.SplitHostPort(s.Addr()); err != nil || host != "127.0.0.1" {
		t.Errorf("address: got %s, error %v", s.Addr(), err)
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{Durable: true, Settings: map[string]string{
		"max_connections":  "17",
		"application_name": "it's odd",
	}})
	conn := connect(t, s.New(t))
	for setting, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "max_connections": "17", "application_name": "it's odd", "TimeZone": "UTC",
	} {
		if got := ask[string](t, conn, "show "+setting); got != want {
			t.Errorf("setting %s: got %q, want %q", setting, got, want)
		}
	}
	usual := connect(t, New(t))
	for setting, want := range map[string]string{"fsync": "off", "max_connections": "400"} {
		if got := ask[string](t, usual, "show "+setting); got != want {
			t.Errorf("default of setting %s: got %q, want %q", setting, got, want)
		}
	}
}

func TestSettingsThatPostgreSQLRefusesAreReported(t *testing.T) {
	t.Parallel()
	_, err := Options{Settings: map[string]string{"no_such_setting": "1"}}.Start()
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v", err)
	}
}

func TestCommittedRowsSurvive(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{})
	url := s.New(t)
	conn := connect(t, url)
	run(t, conn, "create table kept (n int)")
	for i, test := range []struct {
		name string
		end  func() error
	}{
		{"restart", func() error { return nil }},
		{"stop", s.Stop},
		{"stop twice", func() error { return errors.Join(s.Stop(), s.Stop()) }},
		{"kill", s.Kill},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, url)
			run(t, conn, "insert into kept values (1)")
			if err := test.end(); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if err := conn.Ping(t.Context()); err == nil {
				t.Error("the old connection still works")
			}
			if n := ask[int](t, connect(t, url), "select count(*) from kept"); n != i+1 {
				t.Errorf("rows: got %d, want %d", n, i+1)
			}
		})
	}
}

func TestServerCanBeKilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := NewServer(t, Options{})
	url := s.New(t)
	run(t, connect(t, url), "create table load (n bigint generated always as identity)")

	var acknowledged atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() { insertUntil(ctx, url, &acknowledged) })
	}
	for _, end := range []func() error{s.Kill, s.Stop, s.Kill} {
		awaitMore(t, &acknowledged, 20)
		if err := errors.Join(end(), s.Restart()); err != nil {
			t.Error(err)
		}
	}
	awaitMore(t, &acknowledged, 20)
	cancel()
	writers.Wait()
	total := acknowledged.Load()
	if n := ask[int64](t, connect(t, url), "select count(*) from load"); n < total {
		t.Errorf("rows: got %d, want the %d that were acknowledged", n, total)
	}
}

// insertUntil inserts rows until the context ends, each over a new connection, and counts the
// acknowledged ones.
func insertUntil(ctx context.Context, url string, acknowledged *atomic.Int64) {
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		for err == nil {
			if _, err = conn.Exec(ctx, "insert into load default values"); err == nil {
				acknowledged.Add(1)
			}
		}
		_ = conn.Close(context.Background())
	}
}

// awaitMore waits until the count has grown by n.
func awaitMore(t *testing.T, count *atomic.Int64, n int64) {
	t.Helper()
	want := count.Load() + n
	for deadline := time.Now().Add(patient); count.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("rows are no longer inserted: got %d so far", count.Load())
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close(), s.Stop(), s.Kill()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s: not removed: %v", s.dir, err)
	}
	if err := s.Restart(); err == nil {
		t.Error("restart of a closed server: got no error, want one")
	}
}

// TestServerEndsWithTheProcess lets another process start a server and die without cleaning up.
func TestServerEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"kill", "panic", "exit"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), victimEnv+"="+how)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			lines.Scan()
			dir, addr, found := strings.Cut(lines.Text(), " ")
			if !found {
				t.Fatalf("output of the process: got %q", lines.Text())
			}
			if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); err != nil {
				t.Error(err)
			}
			if how == "kill" {
				err = cmd.Process.Kill()
			} else {
				err = stdin.Close() // makes the process die
			}
			if err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(stdout); err != nil || len(rest) > 0 {
				t.Errorf("further output of the process: got %q, error %v", rest, err)
			}
			_ = cmd.Wait() // fails, as the test wants
			awaitGone(t, dir, addr)
		})
	}
}

// victim starts a server, prints its address, and dies when its input ends.
func victim(how string) {
	s, err := Start()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.dir, s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if how == "panic" {
		panic("as a test does")
	}
	os.Exit(3)
}

// awaitGone waits until the port is closed and the folder is removed.
func awaitGone(t *testing.T, dir, addr string) {
	t.Helper()
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		conn, refused := net.Dial("tcp", addr)
		if refused == nil {
			conn.Close()
		}
		_, err := os.Stat(dir)
		if refused != nil && errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("PostgreSQL at %s in %s outlived its test", addr, dir)
}

func TestMissingPostgreSQLSaysHowToGetIt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(binEnv, dir)
	_, err := Start()
	if _, ok := errors.AsType[*MissingError](err); !ok {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{dir, "apt-get install -y --no-install-recommends postgresql", "make setup", binEnv} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error: want %q in it, got %v", want, err)
		}
	}
}

func TestBinariesAreFound(t *testing.T) {
	here, other := t.TempDir(), t.TempDir()
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(here, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(other, "postgres"), nil, 0o755); err != nil { // without initdb
		t.Fatal(err)
	}
	t.Run("on PATH", func(t *testing.T) {
		t.Setenv(binEnv, "")
		t.Setenv("PATH", strings.Join([]string{".", other, here}, string(os.PathListSeparator)))
		if got, err := findBinaries(); got != here || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, here)
		}
	})
	t.Run("where the user says", func(t *testing.T) {
		t.Setenv(binEnv, here)
		if got, err := findBinaries(); got != here || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, here)
		}
	})
	t.Run("nowhere else then", func(t *testing.T) {
		t.Setenv(binEnv, other)
		if got, err := findBinaries(); err == nil {
			t.Errorf("got %s", got)
		}
	})
}

func TestFolderSuitsTheServersUser(t *testing.T) {
	who, err := serverUser()
	if err != nil {
		t.Fatal(err)
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tmp := range map[string]string{
		"closed to others": closed,
		"too long":         filepath.Join(t.TempDir(), strings.Repeat("long", 30)),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", tmp)
			s := NewServer(t, Options{})
			if inside := strings.HasPrefix(s.dir, tmp); inside && (who != nil || name == "too long") {
				t.Errorf("folder: got %s", s.dir)
			}
			connect(t, s.New(t))
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.Run("database", func(b *testing.B) {
		New(b)
		for b.Loop() {
			New(b)
		}
	})
	b.Run("server", func(b *testing.B) {
		for b.Loop() {
			s, err := Start()
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
