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

// Runs that are ready and that another transaction holds are looked at again a little later. That transaction may roll back,
// as that of a second retry does, and wakes no engine then.
func TestRunsThatAreReadyAndLockedBeginALittleLater(t *testing.T) {
	t.Parallel()
	st := openAt(t, pgtest.Migrated(t, postgres.Migrate), postgres.Options{})
	ctx := t.Context()
	pause := core.Duration(time.Hour)
	for _, k := range []task.Task{
		{Name: "member", Kind: task.KindFunc},
		{Name: "workflow", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{{Name: "pause", Sleep: pause}}}},
		{Name: "cycle", Kind: task.KindCycle, Cycle: &task.Cycle{Members: []task.Member{{Task: "member"}}}},
	} {
		if _, err := st.CreateTask(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "workflow"}, {Task: "cycle"}}); err != nil {
		t.Fatal(err)
	}
	other, err := st.DB().(*postgres.DB).Pool().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(ctx) //nolint:errcheck // it may have ended
	if _, err := other.Exec(ctx, `select from belfry.jobs for update`); err != nil {
		t.Fatal(err)
	}
	starts := map[string]func() (job.Promoted, error){
		"workflow": func() (job.Promoted, error) { return st.StartWorkflows(ctx) },
		"cycle":    func() (job.Promoted, error) { return st.StartCycles(ctx) },
	}
	for name, start := range starts {
		if p, err := start(); err != nil || p.Jobs != 0 || !p.NextAt.After(p.Now) || p.NextAt.After(p.Now.Add(time.Second)) {
			t.Errorf("%s: %d begun, looks again at %s, it was %s: %v", name, p.Jobs, p.NextAt, p.Now, err)
		}
	}
	if err := other.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for name, start := range starts {
		if p, err := start(); err != nil || p.Jobs != 1 {
			t.Errorf("%s: %d begun: %v", name, p.Jobs, err)
		}
	}
}
