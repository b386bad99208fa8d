//go:build linux

package main

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

	"github.com/belfry-run/belfry/bench/load"
	"github.com/belfry-run/belfry/internal/pgtest"
)

// durable has an operator's settings: no commit is ever lost. Checkpoints are taken
// before each measurement, so that none occurs during one by chance.
var durable = pgtest.Options{Durable: true, Settings: map[string]string{
	"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
	"shared_buffers": "1GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h",
	"max_connections": "300",
}}

// pgServer is a throwaway PostgreSQL on disk.
type pgServer struct {
	server *pgtest.Server
	admin  *pgx.Conn
	pid    int
	last   int
}

// database is an empty database for one seat.
type database struct {
	server *pgServer
	name   string
	url    string
}

func (s *site) postgres(ctx context.Context) (*pgServer, error) {
	if s.pg != nil {
		return s.pg, nil
	}
	server, err := s.postgreSQL.Start()
	if err != nil {
		var none *pgtest.MissingError
		if errors.As(err, &none) {
			err = missing("no PostgreSQL in " + strings.Join(none.Looked, ", "))
		}
		return nil, err
	}
	p := &pgServer{server: server}
	if err := p.connect(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	s.pg = p
	return p, nil
}

func (p *pgServer) connect(ctx context.Context) (err error) {
	if p.admin, err = pgx.Connect(ctx, p.server.URL("postgres")); err != nil {
		return err
	}
	var data string
	if err := p.admin.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}
	file, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(file), "\n")
	p.pid, err = strconv.Atoi(first)
	return err
}

func (p *pgServer) close() error {
	var err error
	if p.admin != nil {
		err = p.admin.Close(context.Background())
	}
	return errors.Join(err, p.server.Close())
}

func (p *pgServer) cpu() (time.Duration, error) { return treeCPU(p.pid) }

// onPostgres starts a contender on a new database.
func (s *site) onPostgres(ctx context.Context, open func(url string) (load.Driver, error)) (*seat, error) {
	p, err := s.postgres(ctx)
	if err != nil {
		return nil, err
	}
	p.last++
	db := &database{server: p, name: fmt.Sprintf("turn%d", p.last)}
	db.url = p.server.URL(db.name)
	if _, err := p.admin.Exec(ctx, "create database "+db.name+" template template0"); err != nil {
		return nil, err
	}
	d, err := open(db.url)
	if err != nil {
		return nil, errors.Join(err, db.drop())
	}
	return &seat{Driver: d, server: p.cpu, db: db, close: db.drop}, nil
}

func (d *database) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := d.server.admin.Exec(ctx, "drop database "+d.name+" with (force)")
	return err
}

// tidy runs the maintenance that would otherwise come later: statistics for the
// planner, and a checkpoint.
func (d *database) tidy(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // no change depends on this connection
	for _, command := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := conn.Exec(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// wal returns the bytes of log that the server has written so far.
func (p *pgServer) wal(ctx context.Context) (n float64, err error) {
	return n, p.admin.QueryRow(ctx, "select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8").Scan(&n)
}

// dead returns the number of dead rows of the tables, as autovacuum counts them.
func (d *database) dead(ctx context.Context) (n float64, err error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx) //nolint:errcheck // a connection that only reads
	return n, conn.QueryRow(ctx, "select coalesce(sum(n_dead_tup), 0)::float8 from pg_stat_user_tables").Scan(&n)
}
