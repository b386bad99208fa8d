package workers

import (
	"testing"

	"github.com/belfry-run/belfry/job"
)

func TestWorkerSlots(t *testing.T) {
	w := job.WorkerState{WorkerInfo: job.WorkerInfo{Queues: map[string]int{"default": 0, "checks": 4, "odd": 0}}}
	if got := workerSlots(w, map[string]int{"default": 10, "checks": 200}); got != "checks 4 · default 10 · odd" {
		t.Error(got)
	}
}
