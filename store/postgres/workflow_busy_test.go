package postgres_test

import (
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/pgtest"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A run that is due and that another transaction has is looked at again a little later, and not without rest.
func TestARunThatIsDueAndLockedRestsALittle(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	w := task.Task{Name: "t", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "pause", Sleep: core.Duration(time.Hour)}}}}
	if _, err := st.CreateTask(ctx, w); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}}); err != nil {
		t.Fatal(err)
	}
	if p, err := st.StartWorkflows(ctx); err != nil || p.Jobs != 1 {
		t.Fatal(p, err)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it may have ended
	if _, err := st.DB().(*postgres.DB).Pool().Exec(ctx, `update belfry.workflow_runs set due_at = 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, `select from belfry.workflow_runs for update`); err != nil {
		t.Fatal(err)
	}
	if p, err := st.WakeWorkflows(ctx); err != nil || p.Jobs != 0 || !p.NextAt.After(p.Now) {
		t.Errorf("%d runs, looks again at %s, it was %s: %v", p.Jobs, p.NextAt, p.Now, err)
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if p, err := st.WakeWorkflows(ctx); err != nil || p.Jobs != 1 || !p.NextAt.IsZero() {
		t.Errorf("%d runs, looks again at %s: %v", p.Jobs, p.NextAt, err)
	}
}
