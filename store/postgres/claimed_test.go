package postgres_test

import (
	"context"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A session that ends while a claim of it is under way hands back what that
// claim got: the end waits for the claim. Else the job would have a lease that
// nobody looks at any more.
func TestASessionThatEndsDuringItsClaimLeavesNoLease(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	if _, err := st.SaveQueue(t.Context(), job.Queue{Name: "few", GlobalLimit: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t", Kind: task.KindFunc, Queue: "few"}}); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"few": 1}})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select name from belfry.queues where name = 'few' for update"); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	waiting := func() int64 {
		return number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
	claimed, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"few": 1}})
		claimed <- err
	}()
	for waiting() < 1 { // it has read its session, and waits for the queue
	}
	go func() { closed <- st.CloseSession(ctx, s.ID) }()
	for waiting() < 2 && len(closed) == 0 {
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-claimed; err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n := number(t, st, "select count(*) from belfry.leases"); n != 0 {
		t.Errorf("%d leases of a session that has ended", n)
	}
	if n := number(t, st, "select count(*) from belfry.attempts where outcome = 'handed_back'"); n != 1 {
		t.Errorf("%d attempts were handed back, want 1", n)
	}
}

// A large claim does not look for leases behind its mark before it picks, and
// leaves out afterwards what others have claimed there, few at a time or many.
func TestALargeClaimLeavesOutJobsLeasedBehindItsMark(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	here, there := openAt(t, dsn, postgres.Options{}), openAt(t, dsn, postgres.Options{})
	if _, err := here.Enqueue(t.Context(), slices.Repeat([]job.NewJob{{Task: "t", Kind: task.KindFunc}}, 400)); err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	claimer := func(st *store.Store) func(n int) int {
		s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
		if err != nil {
			t.Fatal(err)
		}
		return func(n int) int {
			c, err := st.Claim(t.Context(), job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": n}})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range c.Jobs {
				if seen[j.Job.ID] {
					t.Errorf("job %d was claimed twice", j.Job.ID)
				}
				seen[j.Job.ID] = true
			}
			return len(c.Jobs)
		}
	}
	a, b := claimer(here), claimer(there)
	a(50)
	a(50)                                       // by now it knows which transactions have ended, and its mark is where it stopped
	b(20)                                       // a row of leases each, behind that
	if got := a(100); got != 80 && got != 100 { // 100 if its mark lags, behind a transaction of any test on the server
		t.Errorf("%d jobs, want those of the next 100 that nobody has, or 100", got)
	}
	b(60) // in a pack
	a(60) // where all are somebody's it looks a second time
	for a(100)+b(7) > 0 {
	}
	if len(seen) != 400 {
		t.Errorf("%d jobs were claimed, want 400", len(seen))
	}
}
