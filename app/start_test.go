package app

import (
	"net/http"
	"slices"
	"testing"

	"github.com/belfry-run/belfry/app/config"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

// A client that comes as soon as the node is there finds its worker, and is not told that its jobs will wait.
func TestAStartedNodeHasItsWorker(t *testing.T) {
	t.Parallel()
	o := options(t)
	a := start(t, o)
	workers, err := a.Store().Workers(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(workers, func(w job.WorkerState) bool { return w.Name == o.Name && w.Runs(task.KindCommand) }) {
		t.Errorf("workers: %+v", workers)
	}
	if status := statusOf(t, a.URL()+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d", status)
	}
}

// A node is not ready while its own worker is on its way, and does not wait for one that it will not have.
func TestReadinessWaitsForTheWorker(t *testing.T) {
	t.Parallel()
	for name, roles := range map[string][]string{"worker": {config.RoleAPI, config.RoleEngine, config.RoleWorker}, "none": {config.RoleAPI, config.RoleEngine}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Name, o.Roles = "node", roles
			a, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []func() error{
				func() error { return a.startStore(t.Context()) },
				func() error { return a.startAPI(t.Context()) },
			} {
				if err := part(); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { _ = a.Stop(t.Context()) })
			if err := a.ready(t.Context()); core.CodeOf(err) != core.Unavailable {
				t.Errorf("before the worker has begun: %v", err)
			}
			if status := statusOf(t, a.URL()+"/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("/readyz answers %d before the worker has begun", status)
			}
			if err := a.startWorkers(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := a.ready(t.Context()); err != nil {
				t.Errorf("when it has: %v", err)
			}
		})
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
