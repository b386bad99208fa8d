//go:build linux

package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
)

// Site is one database of a measurement, empty at first.
type Site struct {
	NoGroups, NoBatches bool // of [sqlite.Options]
	*Database
	URL          string    // for belfry serve
	Folder, name string    // Folder: the files of nodes beside it; name: of the database
	Conn         *pgx.Conn // our own connection, to inspect and to clean; nil on SQLite
}

// NewSite makes a database with its schema.
func (d *Database) NewSite(ctx context.Context) (*Site, error) {
	d.sites++
	s := &Site{Database: d, name: fmt.Sprintf("bench_%d", d.sites)}
	var err error
	if s.Folder, err = os.MkdirTemp(d.dir, "belfry-bench-"); err != nil {
		return nil, err
	}
	if d.Postgres() {
		if _, err := d.admin.Exec(ctx, "create database "+s.name); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.Folder))
		}
		s.URL = d.server.URL(s.name)
		if s.Conn, err = pgx.Connect(ctx, s.URL); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	} else {
		s.URL = "sqlite:" + s.file()
	}
	if err := s.With(ctx, store.Options{}, func(*store.Store) error { return nil }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) file() string { return filepath.Join(s.Folder, "belfry.db") }

// Close removes the database.
func (s *Site) Close() error {
	ctx := context.Background()
	var err error
	if s.Postgres() {
		if s.Conn != nil {
			err = s.Conn.Close(ctx)
		}
		_, dropped := s.admin.Exec(ctx, "drop database "+s.name+" with (force)")
		err = errors.Join(err, dropped)
	}
	return errors.Join(err, os.RemoveAll(s.Folder))
}

// Open opens the database as a program does.
func (s *Site) Open(ctx context.Context, o store.Options) (*store.Store, error) {
	if s.Postgres() {
		return postgres.Open(ctx, s.URL, postgres.Options{Options: o})
	}
	return sqlite.Open(ctx, s.file(), sqlite.Options{Options: o, Synchronous: s.synchronous, NoGroups: s.NoGroups, NoBatches: s.NoBatches})
}

// With opens the database for the duration of fn.
func (s *Site) With(ctx context.Context, o store.Options, fn func(st *store.Store) error) error {
	st, err := s.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(fn(st), st.Close())
}

// Calm runs the maintenance that the database would otherwise do during the measure after a large load.
func (s *Site) Calm(ctx context.Context) error {
	if !s.Postgres() {
		return nil // the last Close has written the log back
	}
	for _, statement := range []string{"vacuum (analyze)", "checkpoint"} {
		if _, err := s.Conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Size returns the size of the database on disk. On SQLite no process may have it open.
func (s *Site) Size(ctx context.Context) (n int64, err error) {
	if s.Postgres() {
		err = s.Conn.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&n)
		return n, err
	}
	info, err := os.Stat(s.file())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// DeadTuples returns the number of dead row versions since the database was made: each update and each delete leaves one.
// A PostgreSQL session reports its counts at its end, so this waits until ours is the only one.
func (s *Site) DeadTuples(ctx context.Context) (n int64, err error) {
	if !s.Postgres() {
		return 0, nil
	}
	for others := 1; others > 0; { // closed connections end a moment later
		err := s.Conn.QueryRow(ctx, `
			select count(*)
			from pg_stat_activity
			where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&others)
		if err != nil {
			return 0, err
		}
		if others > 0 {
			process.Pause(ctx, 5*time.Millisecond)
		}
	}
	err = s.Conn.QueryRow(ctx, "select coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables").Scan(&n)
	return n, err
}

// KeepAll is a retention that removes nothing.
var KeepAll = store.Keep{Age: 100 * 365 * 24 * time.Hour, Jobs: 1 << 40}
