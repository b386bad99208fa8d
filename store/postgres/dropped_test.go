package postgres_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// What has room made for it in a full queue does not wait for who is changing the oldest job there, as ageing does: that one
// may wait for what it has locked. It drops the next one.
func TestAFullQueueWaitsForNoJobThatItDrops(t *testing.T) {
	t.Parallel()
	var late atomic.Int64 // minutes
	now := func() time.Time { return time.Date(2026, 5, 1, 12, int(late.Load()), 0, 0, time.UTC) }
	st := open(t, store.Options{Clock: now})
	ctx := t.Context()
	if _, err := st.SaveQueue(ctx, job.Queue{Name: "full", MaxWaiting: 2, OnFull: job.OnFullDropOldest, Ageing: job.MinAgeing}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc, Queue: "full"}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Overlap: schedule.OverlapAllow, Rules: []schedule.Rule{{Every: core.Duration(time.Minute)}}}); err != nil {
		t.Fatal(err)
	}
	made, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}, {Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	oldest, next := made[0].Job.ID, made[1].Job.ID
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it has changed nothing
	if _, err := other.Exec(ctx, `select from belfry.jobs where id = $1 for update`, oldest); err != nil {
		t.Fatal(err)
	}
	passes := func(what string, do func() error) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- do() }()
		for {
			select {
			case err := <-done:
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				return
			default:
				if number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0 {
					_ = other.Rollback(ctx)
					<-done
					t.Fatalf("%s waits", what)
				}
			}
		}
	}
	left := func(what string, dropped int64) {
		t.Helper()
		if n := number(t, st, "select count(*) from belfry.jobs"); n != 2 {
			t.Errorf("%s: %d jobs wait", what, n)
		}
		if j, err := st.Job(ctx, "default", dropped); err != nil || j.Reason != job.ReasonDropped {
			t.Errorf("%s: %+v, %v", what, j, err)
		}
	}
	late.Add(1)
	passes("a fire", func() error { _, err := st.FireDue(ctx); return err })
	left("a fire", next)
	fired := number(t, st, "select max(id) from belfry.jobs")
	passes("an enqueue", func() error { _, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}}); return err })
	left("an enqueue", fired)
}

// A job that another transaction is changing may be dropped when that is done: until then there is nothing to refuse.
func TestAFullQueueWaitsForJobsThatAnotherTransactionChanges(t *testing.T) {
	t.Parallel()
	st, ctx := open(t, store.Options{}), t.Context()
	if _, err := st.SaveQueue(ctx, job.Queue{Name: "full", MaxWaiting: 1, OnFull: job.OnFullDropOldest}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc, Queue: "full"}); err != nil {
		t.Fatal(err)
	}
	made, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it has changed nothing
	if _, err := other.Exec(ctx, `select from belfry.jobs where id = $1 for update`, made[0].Job.ID); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}})
		done <- err
	}()
	for number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") == 0 {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if j, err := st.Job(ctx, "default", made[0].Job.ID); err != nil || j.Reason != job.ReasonDropped {
		t.Errorf("%+v, %v", j, err)
	}
}
