package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
)

// trips counts how often somebody waits for the server.
type trips struct {
	mu  sync.Mutex
	all []string
}

func (c *trips) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.Contains(what, "pg_notify") {
		c.all = append(c.all, what)
	}
}

func (c *trips) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	c.note(q.SQL)
	return ctx
}

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	var texts []string
	for _, q := range b.Batch.QueuedQueries {
		texts = append(texts, q.SQL)
	}
	c.note(strings.Join(texts, ";\n"))
	return ctx
}

func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData)     {}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestRoundTrips pins how often the transitions that a job's latency is made of
// wait for the server.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var c trips
	st, err := postgres.OpenTraced(t.Context(), pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	ctx := t.Context()
	if err := st.EnsureFuncs(ctx, "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(ctx, belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string, want int, do func() error) {
		t.Helper()
		c.take()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := c.take(); len(got) != want {
			t.Errorf("%s took %d round trips, want %d:\n%s", name, len(got), want, strings.Join(got, "\n---\n"))
		}
	}
	enqueue := func() error {
		_, err := st.Enqueue(ctx, []belfry.NewJob{{Task: "t"}})
		return err
	}
	var held []belfry.LeasedJob
	claim := func() error {
		got, err := st.Claim(ctx, belfry.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
		held = got.Jobs
		return err
	}
	finish := func() error {
		_, err := st.Finish(ctx, s.ID, []belfry.Finish{{Ref: belfry.Ref{JobID: held[0].Job.ID, Lease: held[0].Job.Lease}, Outcome: belfry.OutcomeOK}})
		return err
	}
	step("enqueue", 2, enqueue)
	step("first claim", 5, claim)
	step("finish", 3, finish)
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("another claim of the task", 3, claim)
	step("a claim of nothing", 3, claim)
	step("enqueue with a key", 4, func() error {
		_, err := st.Enqueue(ctx, []belfry.NewJob{{Task: "t", Key: "k"}})
		return err
	})
}

// TestTheLastStatementIsNotHalfDone: it fails, and the commit that went with it
// commits nothing.
func TestTheLastStatementIsNotHalfDone(t *testing.T) {
	t.Parallel()
	db := open(t, store.Options{}).DB()
	ctx := t.Context()
	count := func() (n int64) {
		t.Helper()
		if err := db.(*postgres.DB).Pool().QueryRow(ctx, "select count(*) from queues").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	insert := `insert into queues (name, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at)
		select $1, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at from queues where name = 'default'`
	err := db.Write(ctx, func(tx store.Tx, _ store.Moment) error {
		if _, err := tx.Exec(ctx, insert, "first"); err != nil {
			return err
		}
		_, err := tx.(store.Closer).ExecLast(ctx, insert, "default") // is there
		return err
	})
	if err == nil || count() != before {
		t.Errorf("%v, %d queues more", err, count()-before)
	}
	if err := db.Write(ctx, func(tx store.Tx, _ store.Moment) error {
		n, err := tx.(store.Closer).ExecLast(ctx, insert, "second")
		if n != 1 {
			t.Errorf("%d rows", n)
		}
		if _, err := tx.Exec(ctx, insert, "third"); err == nil {
			t.Error("a statement behind the last one was run")
		}
		if rows, err := tx.Query(ctx, insert+" returning name", "fourth"); err == nil {
			rows.Close()
			t.Error("a query behind the last one was run")
		}
		return err
	}); err != nil || count() != before+1 {
		t.Errorf("%v, %d queues more", err, count()-before)
	}
}

func TestWhatIsForeseenIsAnsweredOnceAndNeedNotBeAsked(t *testing.T) {
	t.Parallel()
	db := open(t, store.Options{}).DB()
	ctx := t.Context()
	number := func(tx store.Tx, query string, args ...any) (n int64) {
		t.Helper()
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const draw = `select nextval('ids_job') + $1`
	ahead := []store.Statement{{SQL: draw, Args: []any{int64(0)}}, {SQL: draw, Args: []any{int64(1000)}}, {SQL: `select null::bigint where false`}}
	err := db.(store.Foreseer).WriteAhead(ctx, ahead, func(tx store.Tx, _ store.Moment) error {
		second, third := number(tx, draw, int64(1000)), number(tx, draw, int64(1000))
		if third != second+1 {
			t.Errorf("%d, and then %d", second, third)
		}
		return nil // the first is not asked for
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong := []store.Statement{{SQL: `select 1 / $1::bigint`, Args: []any{int64(0)}}}
	ran := false
	err = db.(store.Foreseer).WriteAhead(ctx, wrong, func(store.Tx, store.Moment) error { ran = true; return nil })
	if err == nil || ran || errors.Is(err, context.Canceled) {
		t.Errorf("ran: %t, %v", ran, err)
	}
	if err := db.Write(ctx, func(tx store.Tx, _ store.Moment) error { number(tx, draw, int64(0)); return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
