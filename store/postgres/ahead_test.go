package postgres_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
)

// trips counts how often somebody waits for the server.
type trips struct {
	notices bool // announcements too
	mu      sync.Mutex
	all     []string
}

func (c *trips) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if what == "select doc from belfry.namespaces order by name" { // the quotas, once a second
		return
	}
	if c.notices || !strings.Contains(what, "pg_notify") {
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

// traced is a store, and what it waits for.
func traced(t *testing.T, dsn string, o postgres.Options) (*store.Store, *trips) {
	t.Helper()
	c := &trips{notices: o.Wakeups != "poll"}
	st, err := postgres.OpenTraced(t.Context(), dsn, o, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, c
}

// TestRoundTrips pins how often the transitions that a job's latency is made of
// wait for the server.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	st, c := traced(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll"})
	ctx := t.Context()
	if err := st.EnsureFuncs(ctx, "", []string{"t", "rare"}); err != nil {
		t.Fatal(err)
	}
	session := worker(t, st, "t", "rare")
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
	task := "t"
	enqueue := func() error {
		_, err := st.Enqueue(ctx, []job.NewJob{{Task: task}})
		return err
	}
	var held []job.LeasedJob
	claim := func() error {
		got, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
		held = got.Jobs
		return err
	}
	finish := func() error {
		_, err := st.Finish(ctx, session, []job.Finish{{Ref: job.Ref{JobID: held[0].Job.ID, Lease: held[0].Job.Lease}, Outcome: job.OutcomeOK}})
		return err
	}
	step("enqueue", 2, enqueue)
	step("first claim", 5, claim) // and which lanes its queue has
	step("finish", 3, finish)
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("another claim of the task", 3, claim)
	step("a claim of nothing", 3, claim)
	step("enqueue with a key", 4, func() error {
		_, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Key: "k"}})
		return err
	})

	step("a claim of the task", 3, claim)
	step("finish", 3, finish)
	for along := false; !along; { // until the claim waits by the time of the enqueue
		var waiting sync.WaitGroup
		waiting.Go(func() {
			got, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}, Wait: core.Duration(time.Minute)})
			if held = got.Jobs; err != nil {
				t.Error(err)
			}
		})
		for began := time.Now(); time.Since(began) < 20*time.Millisecond; { // longer than a claim waits before it goes along
			runtime.Gosched()
		}
		c.take()
		if err := enqueue(); err != nil {
			t.Fatal(err)
		}
		waiting.Wait()
		got := c.take()
		along = slices.ContainsFunc(got, func(trip string) bool {
			return strings.Contains(trip, "insert into belfry.jobs") && strings.Contains(trip, "insert into belfry.leases")
		})
		if along && len(got) != 3 {
			t.Errorf("an enqueue with a claim along took %d round trips:\n%s", len(got), strings.Join(got, "\n---\n"))
		}
		step("finish", 3, finish)
	}
	task = "rare"
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("a claim of another task than before", 4, claim)
	if len(held) != 1 || held[0].Task.Name != "rare" {
		t.Errorf("claimed %+v", held)
	}
}

// What a finish asks first is known before it begins, and what removes an empty
// pack goes along with the commit.
func TestRoundTripsOfManyResults(t *testing.T) {
	t.Parallel()
	st, c := traced(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll", Options: store.Options{PackFrom: 1}})
	p := storetest.NewPacking(t, st, nil, 120)
	for _, packs := range []int64{1, 0} {
		c.take()
		stale := p.Finish(job.OutcomeOK, p.Jobs[:60]...)
		if got := c.take(); stale != 0 || len(got) != 4 {
			t.Errorf("60 results, of which %d were stale, took %d round trips, want 4:\n%s", stale, len(got), strings.Join(got, "\n---\n"))
		}
		p.Jobs = p.Jobs[60:]
		p.Holds(packs, 0)
	}
}

// TestDeferredStatementsRunBeforeTheNextOne: a statement of which nothing is asked is carried
// out before the next, and fails it.
func TestDeferredStatementsRunBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	st, c := traced(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{Wakeups: "poll"})
	ctx := t.Context()
	const mark = `insert into marks (name, rings_at) select $1, count(*) + 1 from marks returning rings_at`
	if _, err := st.DB().(*postgres.DB).Pool().Exec(ctx, `create table marks (name text, rings_at bigint check (rings_at < 100))`); err != nil {
		t.Fatal(err)
	}
	query := func(rows base.Rows, err error) (n int64, _ error) {
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&n); err != nil {
				return 0, err
			}
		}
		return n, rows.Err()
	}
	for name, then := range map[string]struct {
		do    func(tx base.Tx) (int64, error) // answers what it has seen
		want  int64
		trips int // with the begin
	}{
		"nothing": {func(base.Tx) (int64, error) { return 0, nil }, 0, 2},
		"a statement": {func(tx base.Tx) (int64, error) {
			return tx.Exec(ctx, `update marks set name = name`)
		}, 2, 3},
		"a query": {func(tx base.Tx) (int64, error) { return query(tx.Query(ctx, mark, "x")) }, 3, 3},
	} {
		for _, fails := range []bool{false, true} {
			if _, err := st.DB().(*postgres.DB).Pool().Exec(ctx, `truncate marks`); err != nil {
				t.Fatal(err)
			}
			c.take()
			err := st.DB().Write(ctx, func(tx base.Tx, _ base.Moment) error {
				tx.(base.Closer).ExecSoon(mark, "first")
				if fails {
					tx.(base.Closer).ExecSoon(`insert into marks (rings_at) values ($1)`, int64(100))
				} else {
					tx.(base.Closer).ExecSoon(mark, "second")
				}
				got, err := then.do(tx)
				if err == nil && got != then.want {
					t.Errorf("behind which comes %s: %d, want %d", name, got, then.want)
				}
				return err
			})
			trips := len(c.take())
			marks := number(t, st, `select count(*) from marks`)
			if fails {
				if err == nil || marks != 0 {
					t.Errorf("one that fails, behind which comes %s: %v, and leaves %d", name, err, marks)
				}
				continue
			}
			if err != nil || marks < 2 || trips != then.trips {
				t.Errorf("behind which comes %s: %v, %d rows, %d round trips", name, err, marks, trips)
			}
		}
	}
}

func TestPrefetchedQueriesAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	db := open(t, store.Options{}).DB()
	ctx := t.Context()
	number := func(tx base.Tx, query string, args ...any) (n int64) {
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
	const draw = `select nextval('belfry.ids_job') + $1`
	ahead := []base.Statement{{SQL: draw, Args: []any{int64(0)}}, {SQL: draw, Args: []any{int64(1000)}}, {SQL: `select null::bigint where false`}}
	err := db.(base.Foreseer).WriteAhead(ctx, ahead, func(tx base.Tx, _ base.Moment) error {
		second, third := number(tx, draw, int64(1000)), number(tx, draw, int64(1000))
		if third != second+1 {
			t.Errorf("%d, and then %d", second, third)
		}
		return nil // the first is not asked for
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong := []base.Statement{{SQL: `select 1 / $1::bigint`, Args: []any{int64(0)}}}
	ran := false
	err = db.(base.Foreseer).WriteAhead(ctx, wrong, func(base.Tx, base.Moment) error { ran = true; return nil })
	if err == nil || ran || errors.Is(err, context.Canceled) {
		t.Errorf("ran: %t, %v", ran, err)
	}
	if err := db.Write(ctx, func(tx base.Tx, _ base.Moment) error { number(tx, draw, int64(0)); return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
