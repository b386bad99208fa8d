package turns_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/internal/both"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/task"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A job whose key cannot be locked in order waits for the engine. It has been due since it was due, and not since then.
func TestAJobThatIsSetAsideKeepsWhenItWasDue(t *testing.T) {
	t.Parallel()
	both.Run(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		if _, err := st.SaveQueue(ctx, job.Queue{Name: "fair", Fair: &flow.Fair{Key: "input.customer"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.CreateTask(ctx, task.Task{Name: "t", Queue: "fair"}); err != nil {
			t.Fatal(err)
		}
		made, err := st.Enqueue(ctx, []job.NewJob{
			{Task: "t", Input: json.RawMessage(`{"customer":"a"}`)},
			{Task: "t", Input: json.RawMessage(`{"customer":"z"}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		due := made[0].Job.DueAt.Add(-time.Hour)
		err = st.Write(ctx, "set aside", func(c *base.Change) error {
			if _, err := c.Tx.Exec(ctx, `update belfry.jobs set due_at = $2 where id = $1`, made[0].Job.ID, base.Micros(due)); err != nil {
				return err
			}
			for _, i := range []int{1, 0} { // the key of the second job comes after that of the first
				var again turns.Again
				if _, err := base.Collect(ctx, c.Tx, again.Scan, `select queue, id, `+turns.BaseOf+` from belfry.jobs where id = $1`, made[i].Job.ID); err != nil {
					return err
				}
				if err := st.Turns().In(c).PlaceAgain(again); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		state := job.Ready // with one writer, no key is out of order
		if st.Far {
			state = job.Scheduled
		}
		if j, err := st.Job(ctx, core.DefaultNamespace, made[0].Job.ID); err != nil || !j.DueAt.Equal(due) || j.State != state {
			t.Errorf("got %s, due at %s, %v; want %s, due at %s", j.State, j.DueAt, err, state, due)
		}
		if n, err := st.Promote(ctx); err != nil || st.Far && n.Jobs != 1 {
			t.Errorf("%d jobs are made ready: %v", n.Jobs, err)
		}
	})
}
