package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
)

// A worker elsewhere goes on while an older copy of the file takes the place of the newer: it has a lease on a job whose id
// another job gets then, under the same session.
func TestLeasesOfALostTimeWriteNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belfry.db")
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	lease := func(st *store.Store, session string) job.Ref {
		t.Helper()
		e, err := st.Enqueue(t.Context(), []job.NewJob{{Task: "t"}})
		try(err)
		c, err := st.Claim(t.Context(), job.ClaimRequest{Session: session, Want: map[string]int{"default": 1}})
		try(err)
		if len(c.Jobs) != 1 || c.Jobs[0].Job.ID != e[0].Job.ID {
			t.Fatalf("claimed %v of job %d", c.Jobs, e[0].Job.ID)
		}
		return job.Ref{JobID: e[0].Job.ID, Lease: c.Lease}
	}

	st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	try(err)
	_, err = st.CreateTask(t.Context(), task.Task{Name: "t"})
	try(err)
	try(st.Listen(t.Context()))
	s, err := st.OpenSession(t.Context(), job.WorkerInfo{Name: "w", Remote: true, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"t"}, Queues: map[string]int{"default": 1}})
	try(err)
	try(st.Close())
	copied, err := os.ReadFile(path)
	try(err)

	st, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	try(err)
	lost := lease(st, s.ID)
	try(st.Close())
	try(errors.Join(os.Remove(path), os.WriteFile(path, copied, 0o600)))

	st = openAt(t, path, sqlite.Options{})
	now := lease(st, s.ID)
	if now.JobID != lost.JobID || now.Lease <= lost.Lease {
		t.Errorf("%+v after %+v", now, lost)
	}
	done, err := st.Finish(t.Context(), s.ID, []job.Finish{{Ref: lost, Outcome: job.OutcomeOK}})
	try(err)
	j, err := st.Job(t.Context(), "default", now.JobID)
	try(err)
	if !done[0].Stale || j.State != job.Running {
		t.Errorf("a result of the lost time: %+v, and the job is %s", done[0], j.State)
	}
}
