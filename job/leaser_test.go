package job_test

import (
	"testing"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestWorkerInfoMatchesNamespacesKindsAndFuncs(t *testing.T) {
	t.Parallel()
	w := job.WorkerInfo{Namespace: "a", Kinds: []task.Kind{task.KindFunc, task.KindCommand}, Funcs: []string{"f"}}
	anywhere := job.WorkerInfo{Namespace: core.AnyNamespace}
	for what, ok := range map[string]bool{
		"its namespace":                  w.RunsIn("a"),
		"no other":                       !w.RunsIn("b"),
		"any":                            anywhere.RunsIn("b"),
		"its kinds":                      w.Runs(task.KindFunc) && w.Runs(task.KindCommand),
		"no other kind":                  !w.Runs(task.KindHTTP),
		"its handler":                    w.Handles(task.KindFunc, "f"),
		"no other handler":               !w.Handles(task.KindFunc, "g"),
		"a kind that needs none of them": w.Handles(task.KindCommand, "g"),
	} {
		if !ok {
			t.Error(what)
		}
	}
}
