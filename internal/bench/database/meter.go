//go:build linux

package database

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/internal/bench/process"
)

// Usage is the time and the resources that work took.
type Usage struct {
	Took    time.Duration
	Client  time.Duration // CPU of this process
	Server  time.Duration // CPU of PostgreSQL, all its processes
	Written int64         // bytes: WAL on PostgreSQL; on SQLite the writes of this process to file and log
}

// CPU returns the CPU time of client and server.
func (u Usage) CPU() time.Duration { return u.Client + u.Server }

// Meter measures usage since its start.
type Meter struct {
	site  *Site
	Begun time.Time
	first Usage
}

// Meter starts a meter.
func (s *Site) Meter(ctx context.Context) (*Meter, error) {
	m := &Meter{site: s, Begun: time.Now()}
	var err error
	m.first, err = m.read(ctx)
	return m, err
}

// Read returns the usage since the start.
func (m *Meter) Read(ctx context.Context) (Usage, error) {
	u, err := m.read(ctx)
	u.Took -= m.first.Took
	u.Client -= m.first.Client
	u.Server -= m.first.Server
	u.Written -= m.first.Written
	return u, err
}

func (m *Meter) read(ctx context.Context) (u Usage, err error) {
	u.Took = time.Since(m.Begun)
	if u.Client, err = process.OwnCPU(); err != nil {
		return u, err
	}
	if !m.site.Postgres() {
		u.Written, err = process.WrittenBytes()
		return u, err
	}
	if u.Server, err = m.site.ServerCPU(); err != nil {
		return u, err
	}
	return u, m.site.admin.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&u.Written)
}

// Shares measures the shares of a core that a node and PostgreSQL use between two times.
func (s *Site) Shares(ctx context.Context, p *process.Process, from, to time.Time) (node, server float64, err error) {
	var cpu [2][2]time.Duration
	for i, at := range []time.Time{from, to} {
		process.Pause(ctx, time.Until(at))
		if cpu[i][0], err = p.CPU(); err != nil {
			return 0, 0, err
		}
		if cpu[i][1], err = s.ServerCPU(); err != nil {
			return 0, 0, err
		}
	}
	over := float64(to.Sub(from))
	return float64(cpu[1][0]-cpu[0][0]) / over, float64(cpu[1][1]-cpu[0][1]) / over, nil
}
