package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/task"
)

// A handler that ends its job in a transaction which reads of before another began to wait for it does not end it past that
// one, which would sleep for ever: the transaction fails, and the handler begins again.
func TestAnEndInAnOlderSnapshotSeesWaitingJobs(t *testing.T) {
	t.Parallel()
	st := open(t, store.Options{})
	ctx := t.Context()
	for _, name := range []string{"parent", "child"} {
		if _, err := st.CreateTask(ctx, task.Task{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(name string) (string, job.Ref) {
		t.Helper()
		s, err := st.OpenSession(ctx, job.WorkerInfo{Name: name, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{name}, Queues: map[string]int{"default": 1}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
		if err != nil || len(c.Jobs) != 1 {
			t.Fatal(c, err)
		}
		return s.ID, job.Ref{JobID: c.Jobs[0].Job.ID, Lease: c.Jobs[0].Job.Lease}
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "parent"}}); err != nil {
		t.Fatal(err)
	}
	session, parent := claim("parent")
	spawned, err := st.SaveStep(ctx, session, parent, job.NewStep{Number: 1, Name: "spawn", Kind: job.StepSpawn, Job: &job.NewJob{Task: "child"}})
	if err != nil {
		t.Fatal(err)
	}
	_, child := claim("child")
	ends := func(between func()) error {
		tx, err := st.DB().(*postgres.DB).Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback(ctx) //nolint:errcheck // it was committed, or has failed
		if _, err := tx.Exec(ctx, "select count(*) from belfry.steps"); err != nil {
			t.Fatal(err)
		}
		between()
		if _, err := st.FinishTx(ctx, tx, job.Finish{Ref: child, Outcome: job.OutcomeOK}); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	err = ends(func() {
		if _, err := st.SaveStep(ctx, session, parent, job.NewStep{Number: 2, Name: "wait", Kind: job.StepAwait, Child: spawned.Step.Child}); err != nil {
			t.Fatal(err)
		}
	})
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "40001" {
		t.Fatalf("it ended past the one that waits: %v", err)
	}
	if err := ends(func() {}); err != nil {
		t.Fatal(err)
	}
	steps, err := st.JobSteps(ctx, "default", parent.JobID)
	if err != nil || len(steps) != 2 || string(steps[1].Result) != `{"state":"succeeded"}` {
		t.Errorf("%+v, %v", steps, err)
	}
}
