package postgres_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A fire that ends the run of before holds the schedule, for which the end of that run waits. It must not wait for this one,
// and comes again.
func TestAFireWaitsForNoJobThatItEnds(t *testing.T) {
	t.Parallel()
	var late atomic.Int64 // minutes
	now := func() time.Time { return time.Date(2026, 5, 1, 12, int(late.Load()), 0, 0, time.UTC) }
	st := open(t, store.Options{Clock: now})
	ctx := t.Context()
	if _, err := st.CreateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Overlap: schedule.OverlapCancelOther, Rules: []schedule.Rule{{Every: core.Duration(time.Minute)}}}); err != nil {
		t.Fatal(err)
	}
	fire := func() error {
		late.Add(1)
		_, err := st.FireDue(ctx)
		return err
	}
	if err := fire(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, st, "select count(*) from belfry.jobs"); n != 1 {
		t.Fatalf("%d jobs", n)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, `select from belfry.jobs for update`); err != nil {
		t.Fatal(err)
	}
	fired := make(chan error, 1)
	go func() { fired <- fire() }()
	for done := false; !done; {
		select {
		case err := <-fired:
			if done = true; core.CodeOf(err) != core.Unavailable {
				t.Error(err)
			}
		default:
			if number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0 {
				t.Error("it waits")
				if err := other.Rollback(ctx); err != nil {
					t.Fatal(err)
				}
				<-fired
				return
			}
		}
	}
	if _, err := other.Exec(ctx, `select from belfry.schedules for update`); err != nil {
		t.Error(err)
	}
	if err := other.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := fire(); err != nil {
		t.Error(err)
	}
	if n := number(t, st, "select count(*) from belfry.jobs"); n != 1 { // the newest alone: those before had not begun
		t.Errorf("%d jobs", n)
	}
}
