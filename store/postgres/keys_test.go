package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A transition that has locked keys of limits must not wait for others: whoever has these may wait for its own. The end of
// this batch starts a step under a key, and then takes a job out of another and starts a step under it.
func TestATransitionWithKeysWaitsForNoOthers(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	for _, one := range []task.Task{
		{Name: "begin", Kind: task.KindFunc},
		{Name: "limited", Kind: task.KindFunc, Limits: []flow.Limit{{Key: "input.key", Running: 1}}},
		{Name: "flow", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{
			{Name: "begin", Task: "begin"},
			{Name: "own", Task: "limited", Input: map[string]string{"key": `"own"`}, Needs: []string{"begin"}},
			{Name: "theirs", Task: "limited", Input: map[string]string{"key": `"theirs"`}, Needs: []string{"begin"}},
		}}},
	} {
		if _, err := st.CreateTask(ctx, one); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{
		{Task: "limited", Input: json.RawMessage(`{"key":"theirs"}`)},
		{Task: "limited", Input: json.RawMessage(`{"key":"theirs"}`)},
		{Task: "flow"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.StartWorkflows(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"begin", "limited"}, Queues: map[string]int{"default": 10}})
	if err != nil {
		t.Fatal(err)
	}
	claimed := func() (names []string, fs []job.Finish) {
		t.Helper()
		c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 10}})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range c.Jobs {
			names = append(names, j.Job.Task)
			fs = append(fs, job.Finish{Ref: job.Ref{JobID: j.Job.ID, Lease: c.Lease}, Outcome: job.OutcomeOK})
		}
		return names, fs
	}
	names, fs := claimed()
	if len(fs) != 2 {
		t.Fatalf("claimed %v", names)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, `select from belfry.limit_keys where value like '%theirs%' for update`); err != nil {
		t.Fatal(err)
	}
	finished := make(chan error, 1)
	go func() {
		_, err := st.Finish(ctx, s.ID, fs)
		finished <- err
	}()
	for done := false; !done; {
		select {
		case err := <-finished:
			if done = true; err != nil {
				t.Fatal(err)
			}
		default:
			if number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") > 0 {
				t.Error("it waits")
				if err := other.Rollback(ctx); err != nil {
					t.Fatal(err)
				}
				<-finished
				return
			}
		}
	}
	if names, _ := claimed(); fmt.Sprint(names) != "[limited]" { // that under its own key
		t.Errorf("claimed %v", names)
	}
	if err := other.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 { // as often as the engine is woken
		if _, err := st.Promote(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if names, fs = claimed(); len(fs) != 1 {
		t.Errorf("claimed %v", names)
	}
	if _, err := st.Finish(ctx, s.ID, fs); err != nil {
		t.Fatal(err)
	}
	if names, _ = claimed(); len(names) != 1 {
		t.Errorf("claimed %v", names)
	}
	if n := number(t, st, "select count(*) from belfry.limit_left"); n != 0 {
		t.Errorf("%d jobs have not left their keys", n)
	}
}

// A job that goes to rest and ends in one transition, while another has its key, leaves it later, and once.
func TestAJobThatRestsAndEndsLeavesLaterOnce(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	limited, err := st.CreateTask(ctx, task.Task{Name: "limited", Kind: task.KindFunc, Limits: []flow.Limit{{Key: "input.key", Running: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := st.Enqueue(ctx, []job.NewJob{{Task: "limited", Input: json.RawMessage(`{"key":"theirs"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	id := made[0].Job.ID
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it has changed nothing
	if _, err := other.Exec(ctx, `select from belfry.limit_keys where value like '%theirs%' for update`); err != nil {
		t.Fatal(err)
	}
	if err := st.Write(ctx, "rest and end", func(b *base.Change) error {
		c := st.Limits().In(b)
		begins := &job.Job{ID: id + 1, Namespace: "default", Task: "limited", State: job.Ready, Input: json.RawMessage(`{"key":"own"}`)}
		under := false
		err := c.AdmitNew(1, func(int) (*job.Job, []job.Gate, *bool) { return begins, job.GatesOf(limited), &under })
		return errors.Join(err, c.ReleaseForRetry(id), c.Release(id))
	}); err != nil {
		t.Fatal(err)
	}
	if n := number(t, st, "select count(*) from belfry.limit_left where job_id = $1 and failed = 0", id); n != 1 {
		t.Errorf("%d notes that it left", n)
	}
}

// What a key has is counted under its lock: whoever counted without it could let in one too many.
func TestAnEnqueueWaitsForTheLockOfItsKey(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	if _, err := st.CreateTask(ctx, task.Task{Name: "limited", Kind: task.KindFunc, Limits: []flow.Limit{{Key: "input.key", Running: 1}}}); err != nil {
		t.Fatal(err)
	}
	one := []job.NewJob{{Task: "limited", Input: json.RawMessage(`{"key":"one"}`)}}
	if _, err := st.Enqueue(ctx, one); err != nil {
		t.Fatal(err)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it may have ended
	if _, err := other.Exec(ctx, `select from belfry.limit_keys for update`); err != nil {
		t.Fatal(err)
	}
	enqueued := make(chan error, 1)
	go func() {
		_, err := st.Enqueue(ctx, one)
		enqueued <- err
	}()
	for number(t, st, "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'") == 0 {
		select {
		case err := <-enqueued:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-enqueued; err != nil {
		t.Fatal(err)
	}
}
