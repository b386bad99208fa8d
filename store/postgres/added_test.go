package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A verdict that asks for a check while its monitor is being paused or deleted
// leaves none behind, though the schedule's jobs have been withdrawn by then.
func TestACheckThatAVerdictAddsWhileItsMonitorStopsIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(context.Context, *store.Store) error{
		"deleted": func(ctx context.Context, st *store.Store) error { return st.DeleteMonitor(ctx, "default", "m") },
		"paused": func(ctx context.Context, st *store.Store) error {
			_, err := st.PauseMonitor(ctx, "default", "m", time.Time{}, "a while")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // so a check that confirms comes before the next one
			st := open(t, store.Options{Clock: func() time.Time { return noon }})
			check := claimedCheck(t, st)
			tx, err := st.DB().(*postgres.DB).Pool().Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check.Check = &task.CheckResult{Outcome: task.CheckFail, Code: task.CodeStatus, Message: "got 503"}
			if _, err := st.FinishTx(t.Context(), tx, check); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan error, 1)
			go func() { stopped <- stop(context.WithoutCancel(t.Context()), st) }()
			for waiting := int64(0); waiting == 0; {
				waiting = number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			for query, want := range map[string]int64{
				"select count(*) from belfry.jobs": 0, "select count(*) from belfry.jobs_done where state = 'skipped' and reason = '" + name + "'": 1,
			} {
				if got := number(t, st, query); got != want {
					t.Errorf("%s: %d, want %d", query, got, want)
				}
			}
		})
	}
}

// claimedCheck makes monitor m and is the good end of a check of it that runs.
func claimedCheck(t *testing.T, st *store.Store) job.Finish {
	t.Helper()
	w, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindHTTP}, Queues: map[string]int{task.ChecksQueue: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateMonitor(t.Context(), monitor.Monitor{Name: "m", Rules: []schedule.Rule{{Cron: "* * * * *"}}, Check: task.Task{HTTP: &task.HTTP{URL: "https://example.org/"}}}); err != nil {
		t.Fatal(err)
	}
	j, err := st.CheckMonitor(t.Context(), "default", "m")
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Claim(t.Context(), job.ClaimRequest{Session: w.ID, Want: map[string]int{task.ChecksQueue: 1}})
	if err != nil || len(c.Jobs) != 1 || c.Jobs[0].Job.ID != j.ID {
		t.Fatal(c.Jobs, err)
	}
	return job.Finish{Ref: job.Ref{JobID: j.ID, Lease: c.Lease}, Outcome: job.OutcomeOK}
}
