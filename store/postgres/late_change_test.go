package postgres_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// Who enqueues reads a task without a lock. Its job may come after a change of the task that it does not know.
func TestAJobThatComesAfterAChangeOfItsTaskFollowsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, st *store.Store) error
		follow string // the condition on the job once it has
	}{
		"the task is deleted": {
			func(t *testing.T, st *store.Store) error { return st.DeleteTask(t.Context(), "default", "work") },
			`exists (select 1 from belfry.jobs_done where reason = 'deleted') and not exists (select 1 from belfry.jobs)`,
		},
		"it has other requirements": {
			func(t *testing.T, st *store.Store) error {
				_, err := st.UpdateTask(t.Context(), task.Task{Name: "work", Requirements: task.Requirements{Labels: map[string]string{"gpu": "true"}}})
				return err
			},
			`(select requirement from belfry.jobs) <> 0 and (select requirement from belfry.jobs) = (select requirement from belfry.tasks)`,
		},
		"it has its first limit": {
			func(t *testing.T, st *store.Store) error {
				_, err := st.UpdateTask(t.Context(), task.Task{Name: "work", Limits: []flow.Limit{{Running: 1}}})
				return err
			},
			`(select limited from belfry.jobs) = 1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Migrated(t, postgres.Migrate)
			one, other := openAt(t, dsn, postgres.Options{}), openAt(t, dsn, postgres.Options{})
			if _, err := one.CreateTask(t.Context(), task.Task{Name: "work", Kind: task.KindFunc}); err != nil {
				t.Fatal(err)
			}
			tx := beginPgx(t, one)
			if _, err := one.EnqueueTx(t.Context(), tx.Tx, []job.NewJob{{Task: "work"}}); err != nil {
				t.Fatal(err)
			}
			if err := c.change(t, other); err != nil {
				t.Fatal(err)
			}
			for range 5 { // the engine goes on with it, and must not be done with it yet
				if _, err := other.FollowLeft(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			query := func(condition string) (is bool) {
				t.Helper()
				if err := one.DB().(*postgres.DB).Pool().QueryRow(t.Context(), `select `+condition).Scan(&is); err != nil {
					t.Fatal(err)
				}
				return is
			}
			for deadline := time.Now().Add(time.Minute); query(`exists (select 1 from belfry.leftovers)`); {
				if _, err := other.FollowLeft(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := other.Promote(t.Context()); err != nil {
					t.Fatal(err)
				}
				if time.Now().After(deadline) {
					t.Fatal("something is left")
				}
			}
			if !query(c.follow) {
				t.Error("the job does not follow")
			}
		})
	}
}
