package job_test

import (
	"testing"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestNoWindowCostsNothing(t *testing.T) {
	is, j := task.Task{ID: 1 << 40, Name: "t"}, job.Job{Namespace: "default", Task: "t"}
	if n := testing.AllocsPerRun(100, func() { job.WindowOf(is, j) }); n > 0 {
		t.Errorf("%v allocations for a task without a window", n)
	}
}
