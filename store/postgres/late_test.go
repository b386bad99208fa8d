package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// late opens a store with one session for tasks t, whose mark is set.
func late(t *testing.T) (st *store.Store, claim func(wait time.Duration) []int64) {
	t.Helper()
	st = open(t, store.Options{})
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	return st, func(wait time.Duration) (ids []int64) {
		t.Helper()
		c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}, Wait: core.Duration(wait)})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range c.Jobs {
			ids = append(ids, j.Job.ID)
		}
		return ids
	}
}

// A job has its place by the instant of its transaction. One that commits
// after others have been claimed, whose places come later, is not overlooked:
// it is claimed at once, or by the next look everywhere when its transaction
// was open for longer than claims wait for, as it may be on a busy machine.
func TestAJobThatIsCommittedLateIsClaimedAtOnce(t *testing.T) {
	t.Parallel()
	st, claim := late(t)
	for range 20 {
		begun := time.Now()
		tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		slow, err := st.EnqueueTx(t.Context(), tx, []job.NewJob{{Task: "t", Kind: task.KindFunc}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			quick := enqueue(t, st, "t")
			if got := claim(0); len(got) != 1 || got[0] != quick {
				t.Fatalf("claimed %v, want %d", got, quick)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := claim(0)
		for looks := 0; len(got) == 0 && looks < 10 && time.Since(begun) > postgres.LongOpen; looks++ {
			got = claim(2 * time.Second)
		}
		if len(got) != 1 || got[0] != slow[0].Job.ID {
			t.Fatalf("claimed %v, want the late %d", got, slow[0].Job.ID)
		}
	}
}

// A job whose row somebody held while others were claimed is found by the next
// look everywhere.
func TestAJobThatWasSteppedOverIsFoundAgain(t *testing.T) {
	t.Parallel()
	st, claim := late(t)
	enqueue(t, st, "t")
	claim(0)
	held := enqueue(t, st, "t")
	tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select 1 from belfry.jobs where id = $1 for update", held); err != nil {
		t.Fatal(err)
	}
	other := enqueue(t, st, "t")
	if got := claim(0); len(got) != 1 || got[0] != other {
		t.Fatalf("claimed %v, want %d", got, other)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := claim(2 * time.Second); len(got) == 1 && got[0] == held {
			return
		}
	}
	t.Error("never found")
}

// A finish that has to wait for somebody who changes the job's row ends the job
// all the same, whole.
func TestAFinishThatWaitedForItsRowEndsTheJobWhole(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	id := enqueue(t, st, "t")
	c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatal(c.Jobs, err)
	}
	pool := st.DB().(*postgres.DB).Pool()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "update belfry.jobs set tags = ',edited,' where id = $1", id); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := st.Finish(context.WithoutCancel(t.Context()), s.ID, []job.Finish{{Ref: job.Ref{JobID: id, Lease: c.Lease}, Outcome: job.OutcomeOK}})
		ended <- err
	}()
	for waiting := int64(0); waiting == 0; {
		waiting = number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int64{
		"select count(*) from belfry.jobs": 0, "select count(*) from belfry.leases": 0, "select count(*) from belfry.jobs_done where state = 'succeeded' and tags = ',edited,'": 1,
	} {
		if got := number(t, st, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}
