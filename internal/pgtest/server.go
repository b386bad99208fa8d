//go:build linux || darwin

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	oldest  = 15              // the first major version that Belfry supports
	patient = 3 * time.Minute // how long one step may take on a busy machine
)

// Options say how a throwaway server differs from the usual one. The zero value is the usual one.
type Options struct {
	// Durable keeps the data on disk, with fsync and full_page_writes on, as an operator would. It is
	// in memory otherwise, if that has room, with both off: nothing here must survive the machine, and
	// what the kernel has been given survives even the kill -9 of PostgreSQL.
	Durable bool

	// Settings are added to postgresql.conf and win over the defaults, max_connections = 400 and so on.
	Settings map[string]string

	// LogDisk is a folder for the server's write-ahead log, such as that of [SmallDisk]. Default: with the data.
	LogDisk string

	// Env is added to the environment of the server, such as LD_PRELOAD.
	Env []string
}

// Server is one throwaway PostgreSQL. Its methods may be called from several goroutines.
type Server struct {
	bin  string // where postgres is
	dir  string // holds data/, log and the socket
	port int
	who  *syscall.Credential
	env  []string // added to the environment
	dog  *watchdog
	copy string // how a database is best copied
	last atomic.Int64

	mu     sync.Mutex
	pid    int // of the postmaster; 0 while it does not run
	closed bool
}

// Start starts a server with the usual options. Without Close it ends with this process.
func Start() (*Server, error) { return Options{}.Start() }

// Start creates a database cluster, starts its server and waits until it answers.
func (o Options) Start() (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	who, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := makeFolder(who, o.Durable)
	if err != nil {
		return nil, err
	}
	dog, err := watch(dir, who)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Server{bin: bin, dir: dir, who: who, env: o.Env, dog: dog}
	if err := s.create(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// create fills the empty folder and starts the server for the first time.
func (s *Server) create(o Options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.initdb(o); err != nil {
		return err
	}
	if err := s.configure(o); err != nil {
		return err
	}
	var err error
	for range 5 { // another process may take the port between the look and the start
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.startLocked(); !errors.Is(err, errBusy) {
			return err
		}
	}
	return err
}

func (s *Server) initdb(o Options) error {
	var out bytes.Buffer
	args := []string{
		"--pgdata", s.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions",
	}
	if o.LogDisk != "" {
		args = append(args, "--waldir", filepath.Join(o.LogDisk, "wal"))
	}
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = s.dir, environment()
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = s.sysProcAttr()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: start initdb: %w", err)
	}
	err := s.dog.guard(cmd.Process.Pid)
	if err := errors.Join(cmd.Wait(), s.dog.guard(0)); err != nil {
		return fmt.Errorf("pgtest: create a database cluster with %s: %w\n%s", cmd.Path, err, out.String())
	}
	return errors.Join(err, s.checkVersion())
}

func (s *Server) checkVersion() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("pgtest: ask the version of PostgreSQL: %w", err)
	}
	version := strings.TrimSpace(string(text))
	if major, err := strconv.Atoi(version); err != nil || major < oldest {
		return fmt.Errorf("pgtest: the PostgreSQL in %s is version %s\n\n%s", s.bin, version, install)
	}
	return nil
}

// configure appends to postgresql.conf, where the last line about a setting wins.
func (s *Server) configure(o Options) error {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": s.dir,
		"max_connections":         "400", // of three packages of nodes side by side, of which "belfry doctor" says so at four fifths
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"log_line_prefix":         "%m [%p] %d ",
		"log_lock_waits":          "on",
	}
	s.copy = "wal_log"
	if !o.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		settings["max_wal_size"] = "256MB" // it may lie in memory
		s.copy = "file_copy"               // its two checkpoints cost nothing without fsync: 3 times faster
	}
	maps.Copy(settings, o.Settings)
	var conf strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&conf, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("pgtest: configure PostgreSQL: %w", err)
	}
	_, err = f.WriteString(conf.String())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("pgtest: configure PostgreSQL: %w", err)
	}
	return nil
}

// startLocked starts the postmaster and returns when it answers. The caller holds s.mu.
//
// Nothing here leaves a goroutine behind, so that tests which look for leaked goroutines see only
// their own.
func (s *Server) startLocked() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("pgtest: open the log of PostgreSQL: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("pgtest: open the log of PostgreSQL: %w", err)
	}
	// The server must not hold our standard output: go test waits until everybody has closed it.
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-c", "port="+strconv.Itoa(s.port))
	cmd.Dir, cmd.Env = s.dir, append(environment(), s.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = s.sysProcAttr()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: start PostgreSQL: %w", err)
	}
	s.pid = cmd.Process.Pid
	_ = cmd.Process.Release() // we wait for the process ourselves, in exitedLocked
	if err := s.dog.guard(s.pid); err != nil {
		return errors.Join(err, s.endLocked(syscall.SIGKILL))
	}
	return s.awaitLocked(info.Size())
}

// awaitLocked waits until the server answers. If it is dead, the error has the end of its log.
func (s *Server) awaitLocked(logStart int64) error {
	var err error
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = s.exec("select 1"); err == nil {
			return nil
		}
		if s.exitedLocked() {
			return s.startError(logStart)
		}
	}
	return errors.Join(fmt.Errorf("pgtest: PostgreSQL did not answer within %v: %w\n%s", patient, err, s.logFrom(logStart)),
		s.endLocked(syscall.SIGKILL))
}

// errBusy reports that another process holds the port, or that backends which outlived Kill hold the data.
var errBusy = errors.New("its port or its data is still in use")

func (s *Server) startError(logStart int64) error {
	log := s.logFrom(logStart)
	for _, busy := range []string{"could not create any TCP/IP sockets", "pre-existing shared memory block"} {
		if strings.Contains(log, busy) {
			return fmt.Errorf("pgtest: PostgreSQL ended at once: %w\n%s", errBusy, log)
		}
	}
	return fmt.Errorf("pgtest: PostgreSQL ended at once:\n%s", log)
}

// New creates an empty database for this test and returns its URL. The database is dropped when the
// test ends, with all connections to it; a server that the test has stopped keeps it.
func (s *Server) New(t testing.TB) string {
	t.Helper()
	return s.newLike(t, "template0")
}

func (s *Server) newLike(t testing.TB, template string) string {
	t.Helper()
	name := s.databaseName(t.Name())
	if err := s.createDatabase(name, template); err != nil {
		t.Fatalf("pgtest: create database %s: %v\n%s", name, err, s.Log())
	}
	t.Cleanup(func() { drop(t, s, name) })
	return s.URL(name)
}

func drop(t testing.TB, s *Server, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return
	}
	if err := s.exec("drop database if exists " + name + " with (force)"); err != nil {
		t.Errorf("pgtest: drop database %s: %v", name, err)
	}
}

func (s *Server) createDatabase(name, template string) error {
	return s.exec("create database " + name + " template " + template + " strategy " + s.copy)
}

// databaseName makes a name that PostgreSQL and a URL take as it is, and that says in the log whose
// test it was.
func (s *Server) databaseName(test string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	return fmt.Sprintf("t%d_%.40s", s.last.Add(1), strings.TrimPrefix(plain, "test"))
}

// URL returns the address of a database over TCP. It stays the same when the server is restarted.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"),
		Host: s.Addr(), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// SocketURL returns the address of a database over the unix socket.
func (s *Server) SocketURL(database string) string {
	q := url.Values{"host": {s.dir}, "port": {strconv.Itoa(s.port)}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + q.Encode()
}

// Addr returns the host and port of the server, to put a proxy in front.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Log returns the end of the server's log.
func (s *Server) Log() string {
	const most = 16 << 10
	return s.logFrom(max(0, logSize(s)-most))
}

// Stop ends the server as an operator would: clients are cut off, what they committed is kept.
// Restart brings it back. A server that does not run is left alone.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endLocked(syscall.SIGINT)
}

// Kill ends the server with SIGKILL, without a word to its clients. Restart brings it back, through
// crash recovery. The backends notice by themselves, usually within milliseconds.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endLocked(syscall.SIGKILL)
}

// Restart stops the server if it runs and starts it again, on the same data and port, and returns
// when it answers.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("pgtest: restart a server that is closed")
	}
	if err := s.endLocked(syscall.SIGINT); err != nil {
		return err
	}
	err := s.startLocked()
	for deadline := time.Now().Add(patient); errors.Is(err, errBusy) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		err = s.startLocked()
	}
	return err
}

// Close ends the server for good and removes everything it wrote. It is safe to call twice.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	// An immediate end: there is nothing to keep, so nothing to write.
	return errors.Join(s.endLocked(syscall.SIGQUIT), s.dog.release())
}

// endLocked sends the signal and waits for the end, with stronger signals if the server does not end.
func (s *Server) endLocked(sig syscall.Signal) error {
	for _, sig := range []syscall.Signal{sig, syscall.SIGQUIT, syscall.SIGKILL} {
		if s.exitedLocked() {
			return nil
		}
		if err := syscall.Kill(s.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("pgtest: send %v to PostgreSQL: %w", sig, err)
		}
		for deadline := time.Now().Add(patient / 4); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if s.exitedLocked() {
				return nil
			}
		}
	}
	return fmt.Errorf("pgtest: PostgreSQL (process %d) survives SIGKILL", s.pid)
}

// exitedLocked reports whether the postmaster does not run, and buries it.
func (s *Server) exitedLocked() bool {
	if s.pid == 0 {
		return true
	}
	pid, err := syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
	if pid != s.pid && !errors.Is(err, syscall.ECHILD) {
		return false
	}
	s.pid = 0
	_ = s.dog.guard(0) // the number may now become another process's
	return true
}

// exec runs one statement on a connection of its own, over the socket.
func (s *Server) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.SocketURL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// logSize returns the size of a server's log, 0 if it cannot be read.
func logSize(s *Server) int64 {
	info, err := os.Stat(s.logFile())
	if err != nil {
		return 0
	}
	return info.Size()
}

func (s *Server) logFrom(offset int64) string {
	f, err := os.Open(s.logFile())
	if err != nil {
		return ""
	}
	defer f.Close()
	var text bytes.Buffer
	if _, err := f.Seek(offset, 0); err == nil {
		_, _ = text.ReadFrom(f) // half a log is better than none
	}
	return text.String()
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// sysProcAttr runs a program as the server's user, and out of reach of a Ctrl-C at the terminal.
func (s *Server) sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: s.who}
}

// environment is all that PostgreSQL's programs get to see of ours: no PGDATA, PGPORT or secrets.
func environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if path := os.Getenv("LD_LIBRARY_PATH"); path != "" {
		env = append(env, "LD_LIBRARY_PATH="+path)
	}
	return env
}

// freePort finds a port without a listener, below the range that systems hand out for outgoing
// connections. In that range a client that tries to connect while the server is down could be given
// the server's own port, and connect to itself.
func freePort() (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("pgtest: found no free port between 20000 and 32000 in 100 tries")
}
