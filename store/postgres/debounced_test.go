package postgres_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A request in a transaction of the caller's, which nobody can begin again, meets a job that is just being made ready: it
// waits for what becomes of it, and is a new job then, once, however often it is repeated.
func TestADebouncedRequestInATransactionWaitsForTheJobItMeets(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t", Kind: task.KindFunc, Debounce: &flow.Debounce{Window: core.Duration(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	ask := func(n string) []job.NewJob { return []job.NewJob{{Task: "t", Input: json.RawMessage(n)}} }
	first, err := st.Enqueue(t.Context(), ask("1"))
	if err != nil {
		t.Fatal(err)
	}
	pool := st.DB().(*postgres.DB).Pool()
	meets, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := meets.Exec(t.Context(), `update belfry.jobs set state = 'ready', ready_at = due_at where id = $1`, first[0].Job.ID); err != nil {
		t.Fatal(err)
	}
	own, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	type answer struct {
		es  []job.Enqueued
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		es, err := st.EnqueueTx(ctx, own, ask("2"))
		answered <- answer{es, err}
	}()
	for waiting := int64(0); waiting == 0; {
		waiting = number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
	if err := meets.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := <-answered
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.es[0].Existing || a.es[0].Job.ID == first[0].Job.ID {
		t.Errorf("it joined a job that had begun: %+v", a.es[0])
	}
	again, err := st.EnqueueTx(ctx, own, ask("3"))
	if err != nil || again[0].Job.ID != a.es[0].Job.ID || string(again[0].Job.Input) != "3" {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := own.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, st, "select count(*) from belfry.jobs"); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
}
