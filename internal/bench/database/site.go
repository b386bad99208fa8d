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

// Site is one database of ours. It is empty until something is done in it.
type Site struct {
	NoGroups, NoBatches bool // of [sqlite.Options]
	*Database
	URL          string    // as belfry serve takes it
	Folder, name string    // for what nodes keep beside it, and of the database
	Conn         *pgx.Conn // our own, to look and to clean; nil on SQLite
}

// NewSite makes one, with its schema.
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

// Close removes it.
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

// Open opens it as a program would.
func (s *Site) Open(ctx context.Context, o store.Options) (*store.Store, error) {
	if s.Postgres() {
		return postgres.Open(ctx, s.URL, postgres.Options{Options: o})
	}
	return sqlite.Open(ctx, s.file(), sqlite.Options{Options: o, Synchronous: s.synchronous, NoGroups: s.NoGroups, NoBatches: s.NoBatches})
}

// With opens it for as long as fn runs.
func (s *Site) With(ctx context.Context, o store.Options, fn func(st *store.Store) error) error {
	st, err := s.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(fn(st), st.Close())
}

// Calm does now what the database would otherwise do during the measure that follows a large load.
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

// Size is what it takes on disk. On SQLite no process may have it open.
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

// DeadTuples is how many row versions the tables of this database have left behind since it was made: each update and
// each delete leaves one. A session counts for itself and tells at its end, so ours must be the only one that is left.
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
