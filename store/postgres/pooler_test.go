package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// work has some workers make jobs and do them until each has done a number of them, and answers how many calls failed.
func work(t *testing.T, workers, jobs int, of func(i int) *store.Store) (failed int) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	note := func(err error) bool {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if failed++; failed < 5 {
				t.Log(err)
			}
		}
		return err == nil
	}
	for i := range workers {
		all.Go(func() {
			st := of(i)
			s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: fmt.Sprint(i), Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 2}})
			if !note(err) {
				return
			}
			for done, calls := 0, 0; done < jobs && calls < 100*jobs; calls++ {
				_, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}, {Task: "t", Kind: task.KindFunc}})
				note(err)
				got, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 2}})
				note(err)
				_, err = st.Renew(t.Context(), s.ID, job.Held())
				note(err)
				var fs []job.Finish
				for _, j := range got.Jobs {
					fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: got.Lease}, Outcome: job.OutcomeOK})
				}
				if len(fs) == 0 {
					continue
				}
				out, err := st.Finish(t.Context(), s.ID, fs)
				note(err)
				for _, f := range out {
					if f.Stale {
						t.Errorf("stale: %+v", f)
					}
					done++
				}
			}
		})
	}
	all.Wait()
	return failed
}

// Two nodes share three connections of the server.
func TestPostgresFailoverOfAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	url := server.Bouncer(t, "transaction", "default_pool_size = 3")("postgres")
	nodes := []*store.Store{openAt(t, url, postgres.Options{MaxConns: 6}), openAt(t, url, postgres.Options{MaxConns: 6})}
	if failed := work(t, 6, 30, func(i int) *store.Store { return nodes[i%2] }); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
	for _, n := range nodes {
		if mode := n.DB().Wakeups().Mode(); mode != "poll" {
			t.Errorf("nodes wake each other by %q", mode)
		}
	}
}

// A pooler may admit fewer clients than the pool of a node asks for.
func TestPostgresFailoverOfAPoolerWithFewClients(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	st := openAt(t, server.Bouncer(t, "transaction", "max_client_conn = 4")("postgres"), postgres.Options{MaxConns: 16})
	if failed := work(t, 12, 20, func(int) *store.Store { return st }); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
}

func TestPostgresFailoverOfAPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	st := openAt(t, server.Bouncer(t, "session")("postgres"), postgres.Options{})
	if mode := st.DB().Wakeups().Mode(); mode != "notify" {
		t.Errorf("nodes wake each other by %q", mode)
	}
	if failed := work(t, 3, 10, func(int) *store.Store { return st }); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
}

// A role may have fewer connections than the pool of a node asks for.
func TestPostgresFailoverOfARoleWithFewConnections(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	exec(t, server.URL("postgres"), `create role few login connection limit 3`, `grant create on database postgres to few`)
	cfg, err := pgx.ParseConfig(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	st := openAt(t, fmt.Sprintf("postgres://few@%s:%d/postgres?sslmode=disable", cfg.Host, cfg.Port), postgres.Options{MaxConns: 16, Wakeups: "poll"})
	if failed := work(t, 12, 20, func(int) *store.Store { return st }); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
}

// A role may have a statement_timeout. A migration goes on without it, and a node says that it is short.
func TestPostgresFailoverOfARoleWithATimeout(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Options{})
	exec(t, server.URL("postgres"), `create role hasty login`, `alter role hasty set statement_timeout = '300ms'`, `grant create on database postgres to hasty`,
		`create schema belfry authorization hasty`)
	holder, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	if _, err := holder.Exec(t.Context(), `select pg_advisory_lock(hashtextextended('belfry.migrations', 0))`); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	url := strings.Replace(server.URL("postgres"), "postgres@", "hasty@", 1)
	opened := make(chan error, 1)
	go func() {
		st, err := postgres.Open(t.Context(), url, postgres.Options{Options: store.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Wakeups: "poll"})
		if err == nil {
			_, err = st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc}})
			err = errors.Join(err, st.Close())
		}
		opened <- err
	}()
	// The migration waits for longer than the role may.
	if _, err := holder.Exec(t.Context(), `
		do $$
		begin
			for i in 1..3000 loop
				perform pg_stat_clear_snapshot();
				if exists (select from pg_stat_activity where usename = 'hasty' and wait_event_type = 'Lock' and clock_timestamp() - query_start > '600ms') then return; end if;
				perform pg_sleep(0.01);
			end loop;
			raise 'nobody waits';
		end $$`); err != nil {
		t.Error(err)
	}
	if _, err := holder.Exec(t.Context(), `select pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "cancels statements of this role early") {
		t.Errorf("the log says %s", log.String())
	}
	late, err := postgres.Open(t.Context(), url, postgres.Options{Wakeups: "poll"})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	err = late.DB().Write(t.Context(), func(tx base.Tx, _ base.Moment) error {
		_, err := tx.Exec(t.Context(), `select pg_sleep(10)`)
		return err
	})
	wantCode(t, err, core.Unavailable, "statement timeout", "raise statement_timeout")
}
