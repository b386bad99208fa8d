package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/storetest"
	"github.com/belfry-run/belfry/task"
)

// stepped is two nodes whose clock can be set.
func stepped(t *testing.T) (clock *storetest.Clock, one, two *store.Store) {
	t.Helper()
	clock = storetest.NewClock()
	dsn := pgtest.Migrated(t, postgres.Migrate)
	node := func() *store.Store {
		return openAt(t, dsn, postgres.Options{Options: store.Options{Clock: clock.Now, Monotonic: clock.Mono}})
	}
	return clock, node(), node()
}

// A run follows the clock that begins in a transaction which has read the clock before it was set and was followed, and has locked
// nothing yet.
func TestARunThatBeginsWhileTheClockIsSet(t *testing.T) {
	t.Parallel()
	clock, one, two := stepped(t)
	ctx, pool := t.Context(), two.DB().(*postgres.DB).Pool()
	for _, w := range []task.Task{
		{Name: "a", Kind: task.KindFunc},
		{Name: "w", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "pause", Sleep: core.Duration(time.Hour)}, {Name: "a", Task: "a"}}}},
	} {
		if _, err := two.CreateTask(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	for _, steps := range [][]time.Duration{{-day}, {-day, day}, {day}, {-day, -day}} {
		es, err := two.Enqueue(ctx, []job.NewJob{{Task: "w"}})
		if err != nil {
			t.Fatal(err)
		}
		holds, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holds.Exec(ctx, `lock table belfry.queues in access exclusive mode`); err != nil {
			t.Fatal(err)
		}
		began := make(chan error, 1)
		go func() {
			_, err := one.StartWorkflows(ctx)
			began <- err
		}()
		for waits := false; !waits; {
			select {
			case err := <-began:
				t.Fatalf("it did not wait for the queues: %v", err)
			default:
			}
			if err := holds.QueryRow(ctx, `select exists (select from pg_locks where not granted and relation = 'belfry.queues'::regclass)`).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
		for _, by := range steps {
			clock.Set(by)
			if err := two.FollowClock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := holds.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-began; err != nil {
			t.Fatal(err)
		}
		for _, st := range []*store.Store{two, one, two} {
			if err := st.FollowClock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		s, err := two.WorkflowRun(ctx, "default", es[0].Job.ID)
		if err != nil {
			t.Fatal(err)
		}
		if due := clock.Now().Add(time.Hour); !s.NextAt.Equal(due) || !s.Run.Steps[0].Until.Equal(due) {
			t.Errorf("after steps of %s: next %s, pause until %s, want %s", steps, s.NextAt, s.Run.Steps[0].Until, due)
		}
	}
}

// What a transaction of a caller's writes that is under way while the clock is set back comes earlier too, and what came
// after the step is left as it is.
func TestADelayThatIsCommittedAfterTheClockIsSet(t *testing.T) {
	t.Parallel()
	clock, one, two := stepped(t)
	ctx, pool := t.Context(), one.DB().(*postgres.DB).Pool()
	const window = time.Hour
	d := task.Task{Name: "d", Kind: task.KindFunc, Debounce: &flow.Debounce{Key: "input.k", Window: core.Duration(window)}}
	if _, err := one.CreateTask(ctx, d); err != nil {
		t.Fatal(err)
	}
	of := func(key string) []job.NewJob {
		return []job.NewJob{{Task: "d", Input: json.RawMessage(`{"k":"` + key + `"}`)}}
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it may have ended
	late, err := one.EnqueueTx(ctx, tx, of("late"))
	if err != nil {
		t.Fatal(err)
	}
	clock.Set(-24 * time.Hour)
	if err := two.FollowClock(ctx); err != nil {
		t.Fatal(err)
	}
	fresh, err := two.Enqueue(ctx, of("fresh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, st := range []*store.Store{two, one, two} {
		if err := st.FollowClock(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for what, id := range map[string]int64{"under way": late[0].Job.ID, "after the step": fresh[0].Job.ID} {
		var due int64
		if err := pool.QueryRow(ctx, `select due_at from belfry.jobs where id = $1`, id).Scan(&due); err != nil {
			t.Fatal(err)
		}
		if want := clock.Now().Add(window).UnixMicro(); due != want {
			t.Errorf("%s: due %s, want %s", what, time.UnixMicro(due).UTC(), time.UnixMicro(want).UTC())
		}
	}
}
