//go:build linux

// Package benchtest has the helpers of tests of benchmarks. [OnBoth] runs a test on a small SQLite file and on a throwaway
// PostgreSQL server.
package benchtest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/internal/bench/target"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
)

var shared struct {
	once sync.Once
	db   *database.Database
	err  error
}

// Main is TestMain of a package that uses [OnBoth], or starts this program as a node or as a target.
func Main(m *testing.M) {
	node.Child()
	target.Child()
	code := m.Run()
	if shared.db != nil {
		if err := shared.db.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// OnBoth runs a test on a fresh database of each kind. They share one connection, so they take turns.
func OnBoth(t *testing.T, fn func(t *testing.T, s *database.Site)) {
	t.Helper()
	shared.once.Do(func() { shared.db, shared.err = database.StartPostgres(context.Background(), "PostgreSQL", false) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	for _, d := range []*database.Database{database.SQLite("SQLite", t.TempDir(), "NORMAL"), shared.db} {
		t.Run(d.Name, func(t *testing.T) {
			s, err := d.NewSite(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			fn(t, s)
		})
	}
}

// Open opens a database until the test ends. Its retention removes nothing.
func Open(t *testing.T, s *database.Site) *store.Store {
	t.Helper()
	st, err := s.Open(t.Context(), store.Options{Keep: database.KeepAll})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// Rows counts the rows of every table, apart from tables that do not concern schedules or finished jobs.
func Rows(t *testing.T, s *database.Site, st *store.Store) map[string]int64 {
	t.Helper()
	query := "select name from sqlite_master where type = 'table' and name like 'belfry\\_%' escape '\\'"
	if s.Postgres() {
		query = "select relname::text from pg_class where relnamespace = 'belfry'::regnamespace and relkind in ('r', 'p') and not relispartition"
	}
	counts := map[string]int64{}
	err := st.DB().Read(t.Context(), func(tx base.Tx) error {
		names, err := tx.Query(t.Context(), query)
		if err != nil {
			return err
		}
		defer names.Close()
		var tables []string
		for names.Next() {
			var name string
			if err := names.Scan(&name); err != nil {
				return err
			}
			tables = append(tables, strings.TrimPrefix(name, "belfry_"))
		}
		for _, table := range tables {
			if slices.Contains([]string{"audit", "sessions", "tasks", "queues", "sequences", "migrations"}, table) {
				continue
			}
			n, err := database.Number(t.Context(), tx, "select count(*) from belfry."+table)
			if err != nil {
				return err
			}
			counts[table] = n
		}
		return names.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
