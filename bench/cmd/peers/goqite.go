//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"maragu.dev/goqite"

	"github.com/belfry-run/belfry/bench/load"
)

func goqiteOn(c class) contender {
	return contender{
		name: "goqite, " + c.synchronous(), class: c, settings: "receive, handle, delete, one after the other (its runner is slower); poll 1 ms", history: "deleted",
		open: func(ctx context.Context, s *site) (*seat, error) {
			return s.onFile(func(dir string) (load.Driver, error) {
				db, err := openSQLite(filepath.Join(dir, "goqite.db"), c.synchronous(), 1)
				if err != nil {
					return nil, err
				}
				if _, err := db.ExecContext(ctx, goqiteSchema); err != nil {
					return nil, errors.Join(err, db.Close())
				}
				// The timeout of a message is long enough for a stalled machine.
				q := goqite.New(goqite.NewOpts{DB: db, Name: "jobs", Timeout: time.Minute})
				return load.NewLocal(&goqiteQueue{db, q}), nil
			})
		},
	}
}

// goqiteSchema is goqite's schema_sqlite.sql, which goqite does not export.
const goqiteSchema = `
create table goqite (
	id text primary key default ('m_' || lower(hex(randomblob(16)))),
	created text not null default (strftime('%Y-%m-%dT%H:%M:%fZ')),
	updated text not null default (strftime('%Y-%m-%dT%H:%M:%fZ')),
	queue text not null,
	body blob not null,
	timeout text not null default (strftime('%Y-%m-%dT%H:%M:%fZ')),
	received integer not null default 0,
	priority integer not null default 0
) strict;
create trigger goqite_updated_timestamp after update on goqite begin
	update goqite set updated = strftime('%Y-%m-%dT%H:%M:%fZ') where id = old.id;
end;
create index goqite_queue_priority_created_idx on goqite (queue, priority desc, created);`

type goqiteQueue struct {
	db *sql.DB
	q  *goqite.Queue
}

func goqiteMessage(job int64) goqite.Message {
	return goqite.Message{Body: strconv.AppendInt(nil, job, 10)}
}

func (q *goqiteQueue) Enqueue(ctx context.Context, job int64) error {
	return q.q.Send(ctx, goqiteMessage(job))
}

// EnqueueMany sends all jobs in one transaction: goqite has no call for many.
func (q *goqiteQueue) EnqueueMany(ctx context.Context, jobs []int64) error {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no effect after a commit
	for _, job := range jobs {
		if err := q.q.SendTx(ctx, tx, goqiteMessage(job)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (q *goqiteQueue) Work(ctx context.Context, ran func(int64)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	var failed error
	var loop sync.WaitGroup
	loop.Go(func() {
		for failed == nil && ctx.Err() == nil {
			failed = q.once(ctx, ran)
		}
	})
	return func() error {
		cancel()
		loop.Wait()
		if errors.Is(failed, context.Canceled) {
			return nil
		}
		return failed
	}, nil
}

func (q *goqiteQueue) once(ctx context.Context, ran func(int64)) error {
	m, err := q.q.ReceiveAndWait(ctx, time.Millisecond)
	if err != nil || m == nil {
		return err
	}
	job, err := strconv.ParseInt(string(m.Body), 10, 64)
	if err != nil {
		return err
	}
	ran(job)
	return q.q.Delete(context.WithoutCancel(ctx), m.ID)
}

func (q *goqiteQueue) Unsettled(ctx context.Context) (some bool, err error) {
	return some, q.db.QueryRowContext(ctx, "select exists (select 1 from goqite)").Scan(&some)
}

func (q *goqiteQueue) Close() error { return q.db.Close() }
