package postgres_test

import (
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// What is over for the clean-up may be renewed by a transaction that has not ended. A clean-up that waits for it would remove
// the renewed row: PostgreSQL does not look again at what a subquery has found.
func TestACleanUpKeepsRowsRenewedMeanwhile(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	if _, err := st.CreateTask(t.Context(), task.Task{Name: "t", Kind: task.KindFunc}); err != nil {
		t.Fatal(err)
	}
	ask := []job.NewJob{{Task: "t", Key: "key"}}
	if _, err := st.Enqueue(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	pool := st.DB().(*postgres.DB).Pool()
	if _, err := pool.Exec(t.Context(), `update belfry.job_keys set expires_at = 1`); err != nil {
		t.Fatal(err)
	}
	own, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := st.EnqueueTx(t.Context(), own, ask)
	if err != nil || renewed[0].Existing {
		t.Fatalf("%+v, %v", renewed, err)
	}
	cleaned := make(chan error, 1)
	go func() {
		_, err := st.Prune(t.Context())
		cleaned <- err
	}()
	for waits := false; !waits; {
		select {
		case err = <-cleaned:
			waits = true
			cleaned <- err
		default:
			waits = number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0
		}
	}
	if err := own.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-cleaned; err != nil {
		t.Fatal(err)
	}
	again, err := st.Enqueue(t.Context(), ask)
	if err != nil || !again[0].Existing || again[0].Job.ID != renewed[0].Job.ID {
		t.Errorf("asked again: %+v, %v, and job %d has the key", again, err, renewed[0].Job.ID)
	}
}
