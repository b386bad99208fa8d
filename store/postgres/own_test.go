package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/view"
)

// everyday are names that the store's tables have and an application's may have.
var everyday = []string{"jobs", "jobs_done", "tasks", "queues", "sessions", "leases", "packs", "attempts", "tokens", "schedules", "job_keys", "requirements", "migrations", "ids_job"}

func appConfig(cfg *pgxpool.Config) {
	cfg.MaxConns = 6
	cfg.ConnConfig.RuntimeParams["search_path"] = "app"
}

// appPool is a pool of an application: with a search path and tables of its own.
func appPool(t *testing.T, dsn string, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	appConfig(cfg)
	for _, fn := range configure {
		fn(cfg)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// appTables makes the application's tables.
func appTables(t *testing.T, dsn string) {
	t.Helper()
	statements := []string{"create schema app"}
	for _, schema := range []string{"app", "public"} {
		for _, name := range everyday {
			statements = append(statements, fmt.Sprintf("create table %s.%s (own text)", schema, name))
		}
	}
	exec(t, dsn, statements...)
}

// Whatever the caller's search path leads to, the store finds its own. The first store in each schema makes it, beside the
// application's tables; its database is then copied for the cases.
func TestTxBesideOwnTables(t *testing.T) {
	for _, schema := range []string{"", "bells"} {
		own := &pgtest.Reused{Name: "beside" + schema, Configure: appConfig, Migrate: func(ctx context.Context, dsn string) (from, to int64, err error) {
			appTables(t, dsn)
			pool := appPool(t, dsn)
			st, err := postgres.New(ctx, pool, postgres.Options{Schema: schema, Wakeups: "poll"})
			if err == nil {
				err = st.Close()
			}
			pool.Close() // a database with connections cannot be copied
			return 0, 0, err
		}}
		open := func(t *testing.T, o store.Options) *store.Store {
			st, err := postgres.New(t.Context(), own.Pool(t), postgres.Options{Options: o, Schema: schema, Wakeups: "poll"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for _, name := range everyday {
					for _, in := range []string{"app", "public"} {
						var n int
						if err := st.DB().(*postgres.DB).Pool().QueryRow(context.Background(), "select count(*) from "+in+"."+name).Scan(&n); err != nil || n > 0 {
							t.Errorf("%d rows were written to %s.%s, %v", n, in, name, err)
						}
					}
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
			return st
		}
		t.Run("pgx, schema "+schema, func(t *testing.T) { storetest.RunTx(t, open, beginPgx) })
		t.Run("database/sql, schema "+schema, func(t *testing.T) { storetest.RunTx(t, open, beginStd) })
	}
}

// A pool of the caller's is used as it is configured, goes on after the store and
// has no settings of the store's in its sessions.
func TestOwnPoolStaysAsItIs(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	appTables(t, dsn)
	var connects atomic.Int64
	pool := appPool(t, dsn, func(c *pgxpool.Config) {
		c.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { connects.Add(1); return nil }
	})
	st, err := postgres.New(t.Context(), pool, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- st.Run(ctx) }()
	if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); err != nil {
		t.Fatal(err)
	}
	claimAndFinish(t, st)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if connects.Load() == 0 {
		t.Error("the pool's BeforeConnect was not asked")
	}
	for range pool.Stat().TotalConns() { // each of its connections
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal("the pool is closed: ", err)
		}
		defer conn.Release()
		var own int
		if err := conn.QueryRow(t.Context(), `select (select count(*) from pg_listening_channels()) + (select count(*) from pg_settings where source = 'session' and name not in ('search_path', 'application_name', 'client_encoding', 'DateStyle', 'TimeZone'))`).Scan(&own); err != nil || own > 0 {
			t.Errorf("%d settings and channels of the store's are left, %v", own, err)
		}
	}
}

func claimAndFinish(t *testing.T, st *store.Store) {
	t.Helper()
	s := worker(t, st, "t")
	c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatal(c, err)
	}
	if _, err := st.Finish(t.Context(), s, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK}}); err != nil {
		t.Fatal(err)
	}
}

func TestPoolsThatCannotServeAreRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	_, err := postgres.New(t.Context(), nil, postgres.Options{})
	wantCode(t, err, core.Invalid, "pool", "nil")
	small := appPool(t, dsn, func(c *pgxpool.Config) { c.MaxConns = 1 })
	_, err = postgres.New(t.Context(), small, postgres.Options{})
	wantCode(t, err, core.Invalid, "at least 2 connections", "allows 1")
	closed := appPool(t, dsn)
	closed.Close()
	_, err = postgres.New(t.Context(), closed, postgres.Options{})
	wantCode(t, err, core.Unavailable, "pool is closed")
	for _, name := range []string{"Belfry", "pg_own", "a-b", `a"b`, "1a", "information_schema", strings.Repeat("a", 41), "order", "table"} {
		_, err = postgres.New(t.Context(), appPool(t, dsn), postgres.Options{Schema: name})
		wantCode(t, err, core.Invalid, "schema", "must")
	}
}

// Two installations in one database know nothing of each other.
func TestTwoSchemasInOneDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	var stores []*store.Store
	var heard [2]chan string
	for i, schema := range []string{"", "other"} {
		st := openAt(t, dsn, postgres.Options{Schema: schema})
		stores = append(stores, st)
		heard[i] = make(chan string, 100)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = st.DB().Wakeups().Run(ctx, func(topic string) { heard[i] <- topic })
		}()
		t.Cleanup(func() { stop(); <-ended })
		if first := <-heard[i]; first != "" { // it listens now
			t.Fatal(first)
		}
	}
	for i, st := range stores {
		if err := st.EnsureFuncs(t.Context(), "", []string{"t"}); err != nil {
			t.Fatal(err)
		}
		for range i + 1 {
			if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); err != nil {
				t.Fatal(err)
			}
		}
		st.DB().Wakeups().Announce(fmt.Sprint("only ", i))
	}
	for i, st := range stores {
		for deadline := time.After(time.Minute); ; {
			var topic string
			select {
			case topic = <-heard[i]:
			case <-deadline:
				t.Fatalf("store %d has not heard of itself", i)
			}
			if topic == fmt.Sprint("only ", 1-i) {
				t.Errorf("store %d heard what the other said", i)
			}
			if topic == fmt.Sprint("only ", i) {
				break
			}
		}
		jobs, err := st.Jobs(t.Context(), job.Filter{})
		if err != nil || len(jobs.Items) != i+1 {
			t.Errorf("store %d has %d jobs, %v", i, len(jobs.Items), err)
		}
		claimAndFinish(t, st)
		if _, err := st.Prune(t.Context()); err != nil {
			t.Error(err)
		}
		d, err := st.DatabaseHealth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		own := []string{"belfry.jobs", "other.jobs"}
		for k, name := range own {
			if has := slices.ContainsFunc(d.Tables, func(x view.TableHealth) bool { return x.Name == name }); has != (k == i) {
				t.Errorf("store %d looks at %s: %v", i, name, has)
			}
		}
	}
}

// A role that may not make schemas uses one that was made for it.
func TestSchemaThatIsThereNeedsNoRightOnTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	role := fmt.Sprintf("bellringer_%d", time.Now().UnixNano())
	exec(t, dsn, "create role "+role, "create schema bells authorization "+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background()) //nolint:errcheck // of a test
		if _, err := conn.Exec(context.Background(), "drop owned by "+role+"; drop role "+role); err != nil {
			t.Error(err)
		}
	})
	as := func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["role"] = role
		delete(c.ConnConfig.RuntimeParams, "search_path")
	}
	st, err := postgres.New(t.Context(), appPool(t, dsn, as), postgres.Options{Schema: "bells", Wakeups: "poll"})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	_, err = postgres.New(t.Context(), appPool(t, dsn, as), postgres.Options{Schema: "gongs"})
	wantCode(t, err, core.Unavailable, "permission denied")
}
