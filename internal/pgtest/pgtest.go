//go:build linux || darwin

// Package pgtest gives tests a real PostgreSQL and throws it away afterwards.
//
// The first call of New in a test process starts one server from the installed binaries, in a
// temporary folder, on a unix socket and on a loopback port of its own. Every call then creates an
// empty database in it (about 10 ms) and drops it when the test ends, so parallel tests never meet.
// A package that uses it says so once, which makes the end of the tests wait for the clean-up:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// A missing PostgreSQL is a failure that says how to install it, never a skip: a suite that skips
// its database proves nothing.
//
// The server does not outlive the test process, however that ends: a watchdog process holds the
// read end of a pipe, and when the last writer is gone, after a panic, a timeout or kill -9 just as
// after a normal end, it stops the server and removes the folder.
//
// Tests that stop, restart or kill PostgreSQL take a server of their own from NewServer.
package pgtest

import (
	"context"
	"sync"
	"testing"
)

// shared is the server of this test process, started by the first call of New, and the databases in it that others
// are copies of.
var shared struct {
	once   sync.Once
	server *Server
	err    error

	templates sync.Map // by name, of func() error
}

const template = "migrated" // the name of the database that the first call of Migrated made

// New creates an empty database for this test in the server that the tests of this process share,
// and returns its URL. The database is dropped when the test ends, with all connections to it.
func New(t testing.TB) string {
	t.Helper()
	return server(t).New(t)
}

// Migrated is New with a schema, which migrate makes once for all tests of this process: to copy it
// takes a tenth of the time.
func Migrated(t testing.TB, migrate func(ctx context.Context, url string) (from, to int64, err error)) string {
	t.Helper()
	return migrated(t, template, migrate).newLike(t, template)
}

// migrated is the server, with the database of this name to copy.
func migrated(t testing.TB, name string, migrate func(ctx context.Context, url string) (from, to int64, err error)) *Server {
	t.Helper()
	s := server(t)
	made, _ := shared.templates.LoadOrStore(name, sync.OnceValue(func() error {
		if err := s.createDatabase(name, "template0"); err != nil {
			return err
		}
		_, _, err := migrate(context.WithoutCancel(t.Context()), s.URL(name))
		return err
	}))
	if err := made.(func() error)(); err != nil { //nolint:forcetypeassert // nothing else is in it
		t.Fatalf("pgtest: make the database to copy: %v", err)
	}
	return s
}

func server(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = Start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Main runs the tests, stops the shared server if one of them started it, and returns the exit code.
func Main(m *testing.M) int {
	defer func() {
		if shared.server != nil {
			_ = shared.server.Close() // the watchdog ends the rest
		}
	}()
	return m.Run()
}

// NewServer starts a server for this test alone, which may stop, restart and kill it.
func NewServer(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := o.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
