package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// The lookup of recorded attempts comes after the commit. Its failure must not be reported as a failed finish.
func TestAFinishIsDoneIfTheLookupOfRecordedAttemptsFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close() //nolint:errcheck // the test is over
	if _, err := st.CreateTask(ctx, task.Task{Name: "t", Kind: task.KindFunc}); err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSession(ctx, job.WorkerInfo{Name: "w", Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "t"}}); err != nil {
		t.Fatal(err)
	}
	claim, err := st.Claim(ctx, job.ClaimRequest{Session: s.ID, Want: map[string]int{"default": 1}})
	if err != nil || len(claim.Jobs) != 1 {
		t.Fatal(claim, err)
	}
	st.FailRecorded(errors.New("the database is away"))
	ref := job.Ref{JobID: claim.Jobs[0].Job.ID, Lease: claim.Lease}
	out, err := st.Finish(ctx, s.ID, []job.Finish{{Ref: ref, Outcome: job.OutcomeOK}})
	if err != nil || out[0].State != job.Succeeded {
		t.Errorf("finish: got %+v, %v, want the state succeeded", out, err)
	}
}
