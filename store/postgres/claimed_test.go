package postgres_test

import (
	"context"
	"testing"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
)

// A session that ends while a claim of it is under way hands back what that
// claim got: the end waits for the claim. Else the job would have a lease that
// nobody looks at any more.
func TestASessionThatEndsDuringItsClaimLeavesNoLease(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	if _, err := st.SaveQueue(t.Context(), belfry.Queue{Name: "few", GlobalLimit: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(t.Context(), []belfry.NewJob{{Task: "t", Kind: belfry.KindFunc, Queue: "few"}}); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(t.Context(), belfry.WorkerInfo{Name: "w", Kinds: []belfry.Kind{belfry.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"few": 1}})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select name from queues where name = 'few' for update"); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	waiting := func() int64 {
		return number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	}
	claimed, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := st.Claim(ctx, belfry.ClaimRequest{Session: s.ID, Want: map[string]int{"few": 1}})
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
	if n := number(t, st, "select count(*) from leases"); n != 0 {
		t.Errorf("%d leases of a session that has ended", n)
	}
	if n := number(t, st, "select count(*) from attempts where outcome = 'handed_back'"); n != 1 {
		t.Errorf("%d attempts were handed back, want 1", n)
	}
}
