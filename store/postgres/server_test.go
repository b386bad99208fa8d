package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func wantCode(t *testing.T, err error, code core.Code, words ...string) {
	t.Helper()
	if core.CodeOf(err) != code {
		t.Fatalf("error %v has code %q, want %q", err, core.CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("error %q does not say %q", err, w)
		}
	}
}

func exec(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
}

func number(t *testing.T, st *store.Store, query string, args ...any) (n int64) {
	t.Helper()
	if err := st.DB().(*postgres.DB).Pool().QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return n
}

func worker(t *testing.T, st *store.Store, funcs ...string) string {
	t.Helper()
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: funcs, Queues: map[string]int{"default": 1}, TTL: job.MaxSessionTTL})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

func enqueue(t *testing.T, st *store.Store, tk string) int64 {
	t.Helper()
	es, err := st.Enqueue(t.Context(), []job.NewJob{{Task: tk, Kind: task.KindFunc}})
	if err != nil {
		t.Fatal(err)
	}
	return es[0].Job.ID
}

func TestManyNodesMigrateAtTheSameMoment(t *testing.T) {
	t.Parallel()
	for range 3 {
		dsn := pgtest.New(t)
		const nodes = 6
		errs := make([]error, nodes)
		var all sync.WaitGroup
		for i := range nodes {
			all.Go(func() {
				st, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 2})
				if err == nil {
					err = st.Close()
				}
				errs[i] = err
			})
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		st := openAt(t, dsn, postgres.Options{})
		if n := number(t, st, "select count(*) from belfry.queues"); n != int64(len(job.FirstQueues())) {
			t.Errorf("%d queues", n)
		}
	}
}

func TestSchemaVersions(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	_, err := postgres.Open(t.Context(), dsn, postgres.Options{KeepSchema: true})
	wantCode(t, err, core.Conflict, "version 0", "belfry migrate")
	from, to, err := postgres.Migrate(t.Context(), dsn)
	if err != nil || from != 0 || to == 0 {
		t.Fatal(from, to, err)
	}
	h, err := openAt(t, dsn, postgres.Options{KeepSchema: true}).Health(t.Context())
	if err != nil || h.SchemaVersion != to || h.SchemaWanted != to || h.ClockSkew.Abs() > time.Minute {
		t.Fatal(h, err)
	}
}

func TestBadServersAreRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	// An old server, as far as the question for its version can tell.
	exec(t, dsn, "create schema old", "create function old.current_setting(text) returns text language sql as $$ select '140005' $$")
	_, err := postgres.Open(t.Context(), dsn+"&search_path=old,pg_catalog,public", postgres.Options{})
	wantCode(t, err, core.Invalid, "version 14", "15 or newer")
	_, err = postgres.Open(t.Context(), "postgres://user:secret@[::1/x", postgres.Options{})
	wantCode(t, err, core.Invalid, "database")
	if strings.Contains(err.Error(), "secret") {
		t.Error("the error repeats the password")
	}
	_, err = postgres.Open(t.Context(), dsn, postgres.Options{Wakeups: "telepathy"})
	wantCode(t, err, core.Invalid, "wakeups", "telepathy")
	_, err = postgres.Open(t.Context(), strings.Replace(dsn, "?", "_nowhere?", 1), postgres.Options{})
	wantCode(t, err, core.Unavailable, "create it: create database ")
	_, err = postgres.Open(t.Context(), "postgres://u:secret@127.0.0.1:1/x?sslmode=disable", postgres.Options{})
	wantCode(t, err, core.Unavailable, `"x" at 127.0.0.1:1`, "cannot be reached")
}

func TestTextsThatPostgresCannotKeepAreTheCallersFault(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	_, err := st.PauseQueue(t.Context(), "default", "nul \x00")
	wantCode(t, err, core.Invalid, "NUL")
	_, err = st.PauseQueue(t.Context(), "default", "half \xff")
	wantCode(t, err, core.Invalid)
	_, err = st.Task(t.Context(), "default", "nul \x00")
	wantCode(t, err, core.Invalid)
}

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	for _, c := range []struct {
		state    string
		failures int32
		tries    int32
		code     core.Code
	}{{"40001", 2, 3, ""}, {"40P01", 1, 2, ""}, {"40001", 100, 4, core.Unavailable}, {"23505", 1, 1, core.Internal},
		// What the node's user may not do says nothing of the caller's token.
		{"28P01", 1, 1, core.Unavailable}, {"28000", 1, 1, core.Unavailable}, {"42501", 1, 1, core.Unavailable}, {"25006", 1, 1, core.Unavailable}} {
		var tries atomic.Int32
		fault := func(tx base.Tx, _ base.Moment) error {
			if tries.Add(1) <= c.failures {
				_, err := tx.Exec(t.Context(), fmt.Sprintf("do $$ begin raise exception 'made up' using errcode = '%s'; end $$", c.state))
				return err
			}
			return nil
		}
		wantCode(t, st.DB().Write(t.Context(), fault), c.code)
		if tries.Load() != c.tries {
			t.Errorf("%s: %d tries, want %d", c.state, tries.Load(), c.tries)
		}
		if c.state == "40001" && c.code == "" {
			tries.Store(0)
			wantCode(t, st.DB().Read(t.Context(), func(tx base.Tx) error { return fault(tx, base.Moment{}) }), "")
		}
	}
}

// A standby answers every read, so a node on one would pass for ready.
func TestADatabaseThatTakesNoWritesIsNotedInItsHealth(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	var readOnly atomic.Bool
	pool := appPool(t, dsn, func(c *pgxpool.Config) {
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, fmt.Sprintf("set default_transaction_read_only = %t", readOnly.Load()))
			return err
		}
	})
	st, err := postgres.New(t.Context(), pool, postgres.Options{})
	wantCode(t, err, "")
	defer st.Close() //nolint:errcheck // it is the pool's
	wantCode(t, st.EnsureFuncs(t.Context(), "", []string{"t"}), "")
	for _, standby := range []bool{false, true} {
		readOnly.Store(standby)
		pool.Reset()
		_, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}})
		if standby {
			wantCode(t, err, core.Unavailable, "takes no writes", "target_session_attrs")
		} else {
			wantCode(t, err, "")
		}
		h, err := st.Health(t.Context())
		wantCode(t, err, "")
		if h.ReadOnly != standby || h.Room().OK == standby || h.Full {
			t.Errorf("read only: %t, said: %+v", standby, h)
		}
	}
}

func TestDeadlockIsSettledAndBothGetThrough(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	var met sync.WaitGroup
	met.Add(2)
	errs, tries := make([]error, 2), [2]int{}
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			errs[i] = st.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
				first, second := []string{"default", "checks"}[i], []string{"checks", "default"}[i]
				if _, err := tx.Exec(t.Context(), "set local deadlock_timeout = '10ms'"); err != nil {
					return err
				}
				if _, err := tx.Exec(t.Context(), "update belfry.queues set priority = priority where name = $1", first); err != nil {
					return err
				}
				if tries[i]++; tries[i] == 1 {
					met.Done()
					met.Wait()
				}
				_, err := tx.Exec(t.Context(), "update belfry.queues set priority = priority where name = $1", second)
				return err
			})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil || tries[0]+tries[1] < 3 {
		t.Fatal(err, tries)
	}
}

func TestDatabaseThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	st := openAt(t, server.New(t), postgres.Options{Options: store.Options{Poll: time.Hour}})
	ctx, stop := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { _ = st.Run(ctx) })
	defer run.Wait()
	defer stop()
	first := enqueue(t, st, "t")
	s := worker(t, st, "t")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"enqueue": func() error { _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}}); return err },
		"claim": func() error {
			_, err := st.Claim(t.Context(), job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}})
			return err
		},
		"fire":   func() error { _, err := st.FireDue(t.Context()); return err },
		"job":    func() error { _, err := st.Job(t.Context(), "default", first); return err },
		"health": func() error { _, err := st.Health(t.Context()); return err },
		"renew":  func() error { _, err := st.Renew(t.Context(), s, job.Held()); return err },
		"prune":  func() error { _, err := st.Prune(t.Context()); return err },
	} {
		for range 2 {
			if err := call(); core.CodeOf(err) != core.Unavailable {
				t.Errorf("%s while it is away: code %q: %v", name, core.CodeOf(err), err)
			}
		}
	}
	for _, end := range []func() error{func() error { return nil }, server.Kill, server.Stop} {
		if err := errors.Join(end(), server.Restart()); err != nil {
			t.Fatal(err)
		}
		for try := 0; ; try++ {
			_, err := st.FireDue(t.Context())
			if err == nil {
				break
			}
			if core.CodeOf(err) != core.Unavailable || try > 100 {
				t.Fatal("after the restart:", err)
			}
		}
		if j, err := st.Job(t.Context(), "default", first); err != nil || j.State != job.Ready {
			t.Fatal("after the restart:", j.State, err)
		}
	}
	c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatal(c, err)
	}
}

// pair opens two nodes on one database that hear each other and would not look
// by themselves for an hour.
func pair(t *testing.T, o postgres.Options) (a, z *store.Store) {
	t.Helper()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	if o.Poll == 0 {
		o.Poll = time.Hour
	}
	a, z = openAt(t, dsn, o), openAt(t, dsn, o)
	ctx, stop := context.WithCancel(t.Context())
	var run sync.WaitGroup
	for _, st := range []*store.Store{a, z} {
		run.Go(func() { _ = st.Run(ctx) })
	}
	t.Cleanup(run.Wait)
	t.Cleanup(stop)
	return a, z
}

func TestNodesWakeEachOther(t *testing.T) {
	t.Parallel()
	a, z := pair(t, postgres.Options{})
	s := worker(t, z, "t")
	for range 5 {
		claimed := make(chan int64, 1)
		go func() {
			c, err := z.Claim(t.Context(), job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
			if err != nil || len(c.Jobs) != 1 {
				t.Error(c, err)
				claimed <- 0
				return
			}
			claimed <- c.Jobs[0].Job.ID
		}()
		id := enqueue(t, a, "t")
		if got := <-claimed; got != id {
			t.Fatalf("claimed %d, want %d", got, id)
		}
		nudged := z.Nudged(s)
		if _, err := a.CancelJobs(t.Context(), "default", view.Selection{IDs: []int64{id}}); err != nil {
			t.Fatal(err)
		}
		<-nudged
		woken := z.Woken()
		if _, err := a.Enqueue(t.Context(), []job.NewJob{{Task: "t", Delay: core.Duration(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		<-woken
		_, cursor, err := z.Events(t.Context(), "default", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(chan int, 1)
		go func() {
			events, _, _ := z.Events(t.Context(), "default", cursor, time.Hour)
			seen <- len(events)
		}()
		if _, err := a.PauseQueue(t.Context(), "checks", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := a.ResumeQueue(t.Context(), "checks"); err != nil {
			t.Fatal(err)
		}
		if n := <-seen; n == 0 {
			t.Fatal("who watches was not woken")
		}
	}
}

func TestNodesThatOnlyPollFindTheWork(t *testing.T) {
	t.Parallel()
	a, z := pair(t, postgres.Options{Wakeups: "poll", Options: store.Options{Poll: 5 * time.Millisecond}})
	if h, err := z.Health(t.Context()); err != nil || h.Wakeups != "poll" {
		t.Fatal(h, err)
	}
	s := worker(t, z, "t")
	claimed := make(chan int, 1)
	go func() {
		c, _ := z.Claim(t.Context(), job.ClaimRequest{Session: s, Want: map[string]int{"default": 1}, Wait: job.MaxClaimWait})
		claimed <- len(c.Jobs)
	}()
	enqueue(t, a, "t")
	if n := <-claimed; n != 1 {
		t.Fatal(n)
	}
	if n := number(t, a, "select count(*) from pg_stat_activity where datname = current_database() and query ilike 'listen%'"); n != 0 {
		t.Errorf("%d connections listen", n)
	}
}

// The database's clock is an hour ahead of this process's.
func TestOneClockDecides(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	exec(t, dsn, `create schema ahead`,
		`create function ahead.clock_timestamp() returns timestamptz language sql volatile as $$ select pg_catalog.clock_timestamp() + interval '1 hour' $$`)
	st := openAt(t, dsn+"&search_path=ahead,pg_catalog", postgres.Options{Wakeups: "poll"})
	ahead := func(what string, at time.Time) {
		t.Helper()
		if off := time.Until(at); off < 55*time.Minute || off > 65*time.Minute {
			t.Errorf("%s is %s from now, want an hour", what, off)
		}
	}
	now, err := st.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ahead("the clock that decides", now)
	session := worker(t, st, "t")
	j, err := st.Job(t.Context(), "default", enqueue(t, st, "t"))
	if err != nil {
		t.Fatal(err)
	}
	ahead("creation", j.CreatedAt)
	got, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	ahead("claim", got.Jobs[0].Job.ClaimedAt)
	tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
	if err = errors.Join(err, tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	ahead("creation in a transaction of the caller's", made[0].Job.CreatedAt)
}
