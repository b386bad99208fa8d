package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A fire locks schedules before keys of limits. Who skips the jobs of a sequence that schedules have made locks their
// schedules, and must not have the key of the sequence then.
func TestSequenceSkipsLockSchedulesBeforeTheirKey(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	inSequence := task.Task{Name: "t", Kind: task.KindFunc, Sequence: &flow.Sequence{Key: "input.k", OnFailure: flow.SequenceSkips}}
	inSequence.Retry.MaxAttempts = 1
	if _, err := st.CreateTask(ctx, inSequence); err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`{"k":"one"}`)
	if _, err := st.CreateSchedule(ctx, schedule.Schedule{Name: "s", Task: "t", Input: input, Overlap: schedule.OverlapAllow, Rules: []schedule.Rule{{Every: core.Duration(time.Hour)}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "t", Input: input}}); err != nil {
		t.Fatal(err)
	}
	behind, err := st.TriggerSchedule(ctx, core.DefaultNamespace, "s", job.RunNow{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatalf("claimed %d jobs: %v", len(c.Jobs), err)
	}
	if _, err := st.Finish(ctx, s.ID, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeError, Error: "no"}}); err != nil {
		t.Fatal(err)
	}
	fire, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer fire.Rollback(ctx) //nolint:errcheck // after a failure alone
	if _, err := fire.Exec(ctx, `select from belfry.schedules for update`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := st.AdmitWaiting(ctx)
		ended <- err
	}()
	for number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it waits for nothing: %v", err)
		default:
		}
	}
	if _, err := fire.Exec(ctx, `select from belfry.limit_keys for update nowait`); err != nil {
		t.Error(err)
	}
	if err := fire.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if j, err := st.Job(ctx, core.DefaultNamespace, behind.Job.ID); err != nil || j.State != job.Skipped {
		t.Errorf("%v %v", j.State, err)
	}
}

// A job that another transaction has is looked at again a little later, and not without rest.
func TestSequenceSkipsOfLockedJobsAreDelayed(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	inSequence := task.Task{Name: "t", Kind: task.KindFunc, Sequence: &flow.Sequence{OnFailure: flow.SequenceSkips}}
	inSequence.Retry.MaxAttempts = 1
	if _, err := st.CreateTask(ctx, inSequence); err != nil {
		t.Fatal(err)
	}
	made, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}, {Task: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatalf("claimed %d jobs: %v", len(c.Jobs), err)
	}
	if _, err := st.Finish(ctx, s.ID, []job.Finish{{Ref: job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Lease}, Outcome: job.OutcomeError, Error: "no"}}); err != nil {
		t.Fatal(err)
	}
	behind := made[1].Job.ID
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it may have ended
	if _, err := other.Exec(ctx, `select from belfry.jobs where id = $1 for update`, behind); err != nil {
		t.Fatal(err)
	}
	if let, err := st.AdmitWaiting(ctx); err != nil || !let.NextAt.After(let.Now) {
		t.Errorf("looks again at %s, it was %s: %v", let.NextAt, let.Now, err)
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for number(t, st, "select count(*) from belfry.jobs where id = $1", behind) > 0 {
		if _, err := st.AdmitWaiting(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
