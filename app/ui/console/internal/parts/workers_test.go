package parts

import (
	"testing"

	"github.com/belfry-run/belfry/job"
)

func TestWorkersOfOneNameAreToldApart(t *testing.T) {
	worker := func(name, session string) job.WorkerState {
		return job.WorkerState{WorkerInfo: job.WorkerInfo{Name: name}, Session: session}
	}
	all := []job.WorkerState{worker("vm", "0198aaaa-1111-7000-8000-000000000001"), worker("vm", "0198aaaa-1111-7000-8000-000000000002"), worker("gpu", "0198aaaa-1111-7000-8000-000000000003")}
	for i, want := range []string{"…00000001", "…00000002", ""} {
		if got := twin(all, all[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
