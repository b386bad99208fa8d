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

	for range 7 { // with the first, and the one with a key, enough to be expected
		if err := errors.Join(enqueue(), claim(), finish()); err != nil {
			t.Fatal(err)
		}
	}
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("a claim of the usual task", 2, claim)
	step("finish", 3, finish)
	step("a claim of nothing, as usual", 2, claim)
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
		if along && len(got) != 2 {
			t.Errorf("an enqueue with a claim along took %d round trips:\n%s", len(got), strings.Join(got, "\n---\n"))
		}
		step("finish", 3, finish)
	}
	task = "rare"
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("a claim of another task than the usual", 2+4, claim)
	if len(held) != 1 || held[0].Task.Name != "rare" {
		t.Errorf("claimed %+v", held)
	}
	step("finish", 3, finish)
	task = "t"
	if err := enqueue(); err != nil {
		t.Fatal(err)
	}
	step("a claim of a task that is usual no more", 4, claim)
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

// A claim that expects its jobs to be of the usual task takes none of a batch in
// which one is not, and then all of them, once.
func TestAClaimThatExpectedOtherJobs(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]job.NewJob{
		"of another task": {Task: "rare"},
		"with a tag":      {Task: "t", Tags: []string{"red"}},
		"with a key":      {Task: "t", Key: "k"},
	} {
		for _, size := range []int{3, 30} { // from ten on, jobs are compared with the last
			st := open(t, store.Options{})
			ctx := t.Context()
			if err := st.EnsureFuncs(ctx, "", []string{"t", "rare"}); err != nil {
				t.Fatal(err)
			}
			session := worker(t, st, "t", "rare")
			round := func(odds ...job.NewJob) {
				t.Helper()
				jobs := odds
				for len(jobs) < size {
					jobs = append(jobs, job.NewJob{Task: "t"})
				}
				if _, err := st.Enqueue(ctx, jobs); err != nil {
					t.Fatal(err)
				}
				c, err := st.Claim(ctx, job.ClaimRequest{Session: session, Want: map[string]int{"default": 2 * size}})
				if err != nil || len(c.Jobs) != size {
					t.Fatalf("an odd one %s among %d: claimed %d, %v", name, size, len(c.Jobs), err)
				}
				var fs []job.Finish
				for i, j := range c.Jobs {
					if j.Task == nil || j.Task.Name != j.Job.Task || i < len(odds) && (j.Job.Key != odds[i].Key || !slices.Equal(j.Job.Tags, odds[i].Tags)) {
						t.Errorf("an odd one %s among %d: job %d is %+v of %+v", name, size, i, j.Job, j.Task)
					}
					fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: j.Job.Lease}, Outcome: job.OutcomeOK})
				}
				done, err := st.Finish(ctx, session, fs)
				if err != nil || slices.ContainsFunc(done, func(f job.Finished) bool { return f.Stale }) {
					t.Fatalf("an odd one %s among %d: %+v, %v", name, size, done, err)
				}
			}
			for range 10 {
				round()
			}
			round(odd)
			round()
			if n := number(t, st, "select (select count(*) from belfry.leases) + (select count(*) from belfry.packs) + (select count(*) from belfry.jobs)"); n != 0 {
				t.Errorf("an odd one %s among %d leaves %d rows", name, size, n)
			}
		}
	}
}

// TestTheLastStatementIsNotHalfDone: it fails, and the commit that went with it
// commits nothing.
func TestTheLastStatementIsNotHalfDone(t *testing.T) {
	t.Parallel()
	db := open(t, store.Options{}).DB()
	ctx := t.Context()
	count := func() (n int64) {
		t.Helper()
		if err := db.(*postgres.DB).Pool().QueryRow(ctx, "select count(*) from belfry.queues").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	insert := `insert into belfry.queues (name, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at)
		select $1, description, priority, concurrency, global_limit, paused_at, paused_by, paused_reason, created_at, updated_at from belfry.queues where name = 'default'`
	for form, last := range map[string]func(tx base.Tx, name string) (int64, error){
		"query": func(tx base.Tx, name string) (n int64, err error) {
			rows, err := tx.(base.Closer).QueryLast(ctx, insert+" returning name", name)
			if err != nil {
				return 0, err
			}
			defer rows.Close()
			for ; rows.Next(); n++ {
				var got string
				if err := rows.Scan(&got); err != nil || got != name {
					t.Errorf("%q, %v", got, err)
				}
			}
			return n, rows.Err()
		},
		"query that is not read to its end": func(tx base.Tx, name string) (int64, error) {
			rows, err := tx.(base.Closer).QueryLast(ctx, insert+" returning name", name)
			if err != nil {
				return 0, err
			}
			rows.Close()
			return 1, rows.Err()
		},
	} {
		before := count()
		err := db.Write(ctx, func(tx base.Tx, _ base.Moment) error {
			if _, err := tx.Exec(ctx, insert, form+" first"); err != nil {
				return err
			}
			_, err := last(tx, "default") // is there
			return err
		})
		if err == nil || count() != before {
			t.Errorf("%s: %v, %d queues more", form, err, count()-before)
		}
		if err := db.Write(ctx, func(tx base.Tx, _ base.Moment) error {
			n, err := last(tx, form+" second")
			if n != 1 {
				t.Errorf("%s: %d rows", form, n)
			}
			if _, err := tx.Exec(ctx, insert, form+" third"); err == nil {
				t.Errorf("%s: a statement behind the last one was run", form)
			}
			if rows, err := tx.Query(ctx, insert+" returning name", form+" fourth"); err == nil {
				rows.Close()
				t.Errorf("%s: a query behind the last one was run", form)
			}
			if _, err := last(tx, form+" fifth"); err == nil {
				t.Errorf("%s: another last one was run", form)
			}
			return err
		}); err != nil || count() != before+1 {
			t.Errorf("%s: %v, %d queues more", form, err, count()-before)
		}
	}
}

// TestWhatTravelsWithTheNext: a statement of which nothing is asked is carried
// out before the next, and fails it.
func TestWhatTravelsWithTheNext(t *testing.T) {
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
		"the last query": {func(tx base.Tx) (int64, error) {
			return query(tx.(base.Closer).QueryLast(ctx, mark, "x"))
		}, 3, 2},
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

func TestWhatIsForeseenIsAnsweredOnceAndNeedNotBeAsked(t *testing.T) {
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
	err := db.(base.Foreseer).WriteAhead(ctx, "test", ahead, func(tx base.Tx, _ base.Moment) error {
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
	err = db.(base.Foreseer).WriteAhead(ctx, "test", wrong, func(base.Tx, base.Moment) error { ran = true; return nil })
	if err == nil || ran || errors.Is(err, context.Canceled) {
		t.Errorf("ran: %t, %v", ran, err)
	}
	if err := db.Write(ctx, func(tx base.Tx, _ base.Moment) error { number(tx, draw, int64(0)); return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
