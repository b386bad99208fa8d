//go:build linux

package rates

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/jobs"
)

// Bare runs the fewest statements that take jobs through a PostgreSQL queue which keeps its history and survives a crash.
// A claim picks a batch and records its session, and an end moves the batch to the history. Each is one transaction and
// one round trip. One connection claims and one ends. Nothing else happens: no limits, no clock, no check of a lease, no
// lock against cancels, no handler. No queue can be faster on the same rows at the same durability.
type Bare struct {
	Name  string
	Whole bool // as for many workers: claims lock rows and read whole jobs, and the history is Belfry's
	Batch int
}

// Bounds has the bounds for comparison with Belfry. The batch is that of a default worker in a burn-down.
var Bounds = []Bare{
	{Name: "a lease for a batch, one index", Batch: 500},
	{Name: "whole jobs, Belfry's history", Batch: 500, Whole: true},
}

// bareSchema holds one row for each claim, and finished jobs as Belfry keeps them.
const bareSchema = `
	create table bare_leases (number bigint primary key, session text not null, jobs bigint[] not null, deadline_at bigint not null);
	create table bare_done (like belfry.jobs_done);
	create index on bare_done (id)`

const (
	// barePick begins behind the last job of the claim before it.
	barePick = `
		with picked as materialized (
			select id, turn, %s
			from belfry.jobs
			where state = 'ready' and queue = 'default' and priority = 0 and (turn, id) > ($1, $2)
			order by priority desc, turn, id
			limit $3 %s),
		leased as (
			insert into bare_leases (number, session, jobs, deadline_at)
			select $4, $5, array_agg(id), $6
			from picked
			having count(*) > 0)
		select * from picked`
	// bareWhole has the other columns that a worker gets.
	bareWhole = `namespace, task_id, task, kind, queue, priority, state, reason, note, error, input, tags, trigger, schedule, schedule_id,
		generation, nominal, due_at, created_at, attempt, failures, infra, snoozes, max_attempts, timeout, lease, active_key, idem_key`
	bareMove = `
		with gone as (delete from belfry.jobs where id = any($2) returning *),
		freed as (delete from bare_leases where number = $1)
		insert into %s (` + jobs.DoneColumns + `)` + bareEnded + `
		from gone`
	// bareEnded is the final row of a job with lease $1 and session $3, at $4.
	bareEnded = `
		select id, namespace, task_id, task, kind, queue, priority, 'succeeded', '', '', '', input, tags, trigger,
			schedule, schedule_id, generation, nominal, due_at, created_at, cast($4 as bigint), 0,
			attempt + 1, failures, snoozes, max_attempts, timeout, $1, $3, active_key, idem_key, cast($4 as bigint), null,
			'ok', '', 0, null, '', 0, 0, 0`
)

// bareSession has the length of a session's id.
const bareSession = "00000000-0000-7000-8000-000000000000"

// claimed is a batch that passes from one connection to the other.
type claimed struct {
	number int64
	ids    []int64
}

// Run moves n waiting jobs of a fresh database to its history.
func (b Bare) Run(ctx context.Context, d *database.Database, n int) (w Work, err error) {
	if !d.Postgres() {
		return bareFile{b.Batch}.run(ctx, d, n)
	}
	s, err := d.NewSite(ctx)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Conn.Exec(ctx, bareSchema); err != nil {
		return w, err
	}
	if err := s.Calm(ctx); err != nil {
		return w, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) error {
		_, err := EnqueueBulk(ctx, s, st, n)
		return err
	})
	if err != nil {
		return w, err
	}
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches, ended := make(chan claimed, 2), make(chan error, 1)
	go func() {
		err := connected(ctx, s, func(conn *pgx.Conn) error { return b.end(ctx, conn, batches) })
		cancel(err)
		ended <- err
	}()
	err = connected(ctx, s, func(conn *pgx.Conn) error { return b.claim(ctx, conn, n, batches) })
	close(batches)
	if err := errors.Join(<-ended, err); err != nil {
		return w, err
	}
	w.Jobs = n
	w.Usage, err = m.Read(context.WithoutCancel(ctx))
	return w, err
}

// connected opens a connection for the duration of fn, with the planner settings of Belfry's transitions.
func connected(ctx context.Context, s *database.Site, fn func(conn *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is under way
	if _, err := conn.Exec(ctx, "set enable_seqscan = off; set jit = off"); err != nil {
		return err
	}
	return fn(conn)
}

func (b Bare) claim(ctx context.Context, conn *pgx.Conn, n int, batches chan<- claimed) error {
	query := fmt.Sprintf(barePick, "task_id, input", "")
	if b.Whole {
		query = fmt.Sprintf(barePick, bareWhole, "for update skip locked")
	}
	var turn, id int64 // of the last job before
	for number := int64(1); n > 0; number++ {
		rows, err := conn.Query(ctx, query, turn, id, b.Batch, number, bareSession, number)
		if err != nil {
			return err
		}
		batch := claimed{number: number, ids: make([]int64, 0, b.Batch)}
		for rows.Next() {
			values := rows.RawValues() // undecoded: the rates need no more
			id, turn = int64(binary.BigEndian.Uint64(values[0])), int64(binary.BigEndian.Uint64(values[1]))
			batch.ids = append(batch.ids, id)
		}
		err = rows.Err()
		if err == nil && len(batch.ids) == 0 {
			err = fmt.Errorf("%d jobs are missing", n)
		}
		if err != nil {
			return err
		}
		n -= len(batch.ids)
		select {
		case batches <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (b Bare) end(ctx context.Context, conn *pgx.Conn, batches <-chan claimed) error {
	query := fmt.Sprintf(bareMove, "bare_done")
	if b.Whole {
		query = fmt.Sprintf(bareMove, "belfry.jobs_done")
	}
	var now int64
	if err := conn.QueryRow(ctx, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint").Scan(&now); err != nil {
		return err
	}
	for batch := range batches {
		tag, err := conn.Exec(ctx, query, batch.number, batch.ids, bareSession, now)
		if err == nil && int(tag.RowsAffected()) != len(batch.ids) {
			err = fmt.Errorf("%d of %d jobs ended", tag.RowsAffected(), len(batch.ids))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
