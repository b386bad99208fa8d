//go:build linux

package bench

import (
	"context"
	"syscall"
	"time"
)

// Usage is what something took.
type Usage struct {
	Took    time.Duration
	Client  time.Duration // CPU of this process
	Server  time.Duration // CPU of PostgreSQL, all its processes
	Written int64         // bytes: WAL on PostgreSQL; on SQLite what this process wrote, file and log
}

// CPU is both.
func (u Usage) CPU() time.Duration { return u.Client + u.Server }

// Meter reads usage from a beginning on.
type Meter struct {
	site  *Site
	begun time.Time
	first Usage
}

// Meter begins now.
func (s *Site) Meter(ctx context.Context) (*Meter, error) {
	m := &Meter{site: s, begun: time.Now()}
	var err error
	m.first, err = m.read(ctx)
	return m, err
}

// Read is what was used since the beginning.
func (m *Meter) Read(ctx context.Context) (Usage, error) {
	u, err := m.read(ctx)
	u.Took -= m.first.Took
	u.Client -= m.first.Client
	u.Server -= m.first.Server
	u.Written -= m.first.Written
	return u, err
}

func (m *Meter) read(ctx context.Context) (u Usage, err error) {
	u.Took = time.Since(m.begun)
	if u.Client, err = ownCPU(); err != nil {
		return u, err
	}
	if !m.site.Postgres() {
		u.Written, err = writtenBytes()
		return u, err
	}
	if u.Server, err = treeCPU(m.site.pid); err != nil {
		return u, err
	}
	return u, m.site.admin.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&u.Written)
}

func ownCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
