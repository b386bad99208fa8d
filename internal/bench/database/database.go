//go:build linux

// Package database makes the databases for measurements, on SQLite and PostgreSQL: empty ones, and large ones with copies
// of schedules and finished jobs; see [Site.CloneSchedules] and [Site.CloneHistory].
package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/bench/process"
	"github.com/belfry-run/belfry/internal/bench/report"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
)

// settings of PostgreSQL beside its defaults. The durability of a commit is that of operators. The WAL may grow, so that
// checkpoints, and the full pages that follow each, come by time and not in the middle of a short measure.
var settings = map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB"}

// Database is a kind of database at one durability: a column of the table.
type Database struct {
	Name        string
	dir         string // of the files of SQLite
	synchronous string
	server      *pgtest.Server
	admin       *pgx.Conn // to the server, in a database that is not measured
	pid         int       // of the postmaster
	sites       int
}

// SQLite keeps its files below dir. Synchronous is FULL, the default of Belfry, or NORMAL.
func SQLite(name, dir, synchronous string) *Database {
	return &Database{Name: name, dir: dir, synchronous: synchronous}
}

// StartPostgres starts a throwaway server. A durable one is on disk, with fsync on.
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

// Postgres reports whether the database is PostgreSQL.
func (d *Database) Postgres() bool { return d.server != nil }

// ServerCPU returns the CPU time of all processes of PostgreSQL so far. On SQLite it is 0.
func (d *Database) ServerCPU() (time.Duration, error) {
	if !d.Postgres() {
		return 0, nil
	}
	return process.TreeCPU(d.pid)
}

// Conditions returns the version and durability that the database itself reports.
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
			d.Name, version, d.synchronous, process.FileSystem(d.dir), syncTime(d.dir))
		return err
	})
	return text, errors.Join(err, s.Close())
}

// syncTime returns the median time of a small durable write, which bounds the rate of a single caller.
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
	return report.QuantilesOf(took).P50.Round(time.Microsecond).String()
}
