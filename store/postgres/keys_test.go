package postgres_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
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
