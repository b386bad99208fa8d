//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// settings of PostgreSQL beside its defaults. What a commit promises is as an operator has it. The WAL may grow so that
// checkpoints, and the full pages that follow each, come by time and not in the midst of a short measure.
var settings = map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB"}

// Database is a kind of database at one durability: a column of the table.
type Database struct {
	Name        string
	dir         string // of the files of SQLite
	synchronous string
	server      *pgtest.Server
	admin       *pgx.Conn // to the server, in no database of ours
	pid         int       // of the postmaster
	sites       int
}

// SQLite keeps its files below dir. Synchronous is FULL, the default of Belfry, or NORMAL.
func SQLite(name, dir, synchronous string) *Database {
	return &Database{Name: name, dir: dir, synchronous: synchronous}
}

// StartPostgres starts a throwaway server. Durable is with fsync on and on disk.
func StartPostgres(ctx context.Context, name string, durable bool) (*Database, error) {
	server, err := pgtest.Options{Durable: durable, Settings: settings}.Start()
	if err != nil {
		return nil, err
	}
	d := &Database{Name: name, server: server}
	if d.admin, err = pgx.Connect(ctx, server.URL("postgres")); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	file := ""
	if err := d.admin.QueryRow(ctx, "select pg_read_file('postmaster.pid')").Scan(&file); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	line, _, _ := strings.Cut(file, "\n")
	if d.pid, err = strconv.Atoi(line); err != nil {
		return nil, errors.Join(fmt.Errorf("read the postmaster's process number: %w", err), d.Close())
	}
	return d, nil
}

// Close ends the server, if there is one.
func (d *Database) Close() error {
	if d.server == nil {
		return nil
	}
	return errors.Join(d.admin.Close(context.Background()), d.server.Close())
}

// Postgres reports which of the two it is.
func (d *Database) Postgres() bool { return d.server != nil }

// Conditions says version and durability, as the database itself tells them.
func (d *Database) Conditions(ctx context.Context) (text string, err error) {
	if d.Postgres() {
		err := d.admin.QueryRow(ctx, `
			select 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) || ', ' || string_agg(name || '=' || current_setting(name), ', ' order by name)
			from pg_settings
			where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers', 'max_wal_size', 'autovacuum')`).Scan(&text)
		return d.Name + ": " + text, err
	}
	s, err := d.NewSite(ctx)
	if err != nil {
		return "", err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		version, err := st.DB().Version(ctx)
		text = fmt.Sprintf("%s: %s, synchronous=%s, on %s, where a write of 4 KiB with fsync takes %s",
			d.Name, version, d.synchronous, fileSystem(d.dir), syncTime(d.dir))
		return err
	})
	return text, errors.Join(err, s.Close())
}

// syncTime is the median of what a small durable write takes, which bounds what a single caller can reach.
func syncTime(dir string) string {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return "unknown"
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a temporary file
	defer f.Close()           //nolint:errcheck // a temporary file
	var took []time.Duration
	for range 200 {
		begun := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return "unknown"
		}
		if err := f.Sync(); err != nil {
			return "unknown"
		}
		took = append(took, time.Since(begun))
	}
	return QuantilesOf(took).P50.Round(time.Microsecond).String()
}

// Site is one database of ours. It is empty until something is done in it.
type Site struct {
	NoGroups, NoBatches bool // of [sqlite.Options]
	*Database
	URL          string    // as belfry serve takes it
	folder, name string    // for what nodes keep beside it, and of the database
	conn         *pgx.Conn // our own, to look and to clean; nil on SQLite
}

// NewSite makes one, with its schema.
func (d *Database) NewSite(ctx context.Context) (*Site, error) {
	d.sites++
	s := &Site{Database: d, name: fmt.Sprintf("bench_%d", d.sites)}
	var err error
	if s.folder, err = os.MkdirTemp(d.dir, "belfry-bench-"); err != nil {
		return nil, err
	}
	if d.Postgres() {
		if _, err := d.admin.Exec(ctx, "create database "+s.name); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.folder))
		}
		s.URL = d.server.URL(s.name)
		if s.conn, err = pgx.Connect(ctx, s.URL); err != nil {
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

func (s *Site) file() string { return filepath.Join(s.folder, "belfry.db") }

// Close removes it.
func (s *Site) Close() error {
	ctx := context.Background()
	var err error
	if s.Postgres() {
		if s.conn != nil {
			err = s.conn.Close(ctx)
		}
		_, dropped := s.admin.Exec(ctx, "drop database "+s.name+" with (force)")
		err = errors.Join(err, dropped)
	}
	return errors.Join(err, os.RemoveAll(s.folder))
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
		if _, err := s.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Size is what it takes on disk. On SQLite nobody may have it open.
func (s *Site) Size(ctx context.Context) (n int64, err error) {
	if s.Postgres() {
		err = s.conn.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&n)
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
		err := s.conn.QueryRow(ctx, `
			select count(*)
			from pg_stat_activity
			where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`).Scan(&others)
		if err != nil {
			return 0, err
		}
		if others > 0 {
			pause(ctx, 5*time.Millisecond)
		}
	}
	err = s.conn.QueryRow(ctx, "select coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables").Scan(&n)
	return n, err
}

// keepAll is a retention that removes nothing.
var keepAll = store.Keep{Age: 100 * 365 * 24 * time.Hour, Jobs: 1 << 40}

// task is what nearly all jobs here are of: a Go handler that does nothing.
const noop = "noop"

func newJobs(n int) []job.NewJob {
	jobs := make([]job.NewJob, n)
	for i := range jobs {
		jobs[i] = job.NewJob{Task: noop, Kind: task.KindFunc}
	}
	return jobs
}
