package belfry_test

import (
	"testing"

	"github.com/belfry-run/belfry"
)

func TestWhatAWorkerTakes(t *testing.T) {
	t.Parallel()
	w := belfry.WorkerInfo{Namespace: "a", Kinds: []belfry.Kind{belfry.KindFunc, belfry.KindCommand}, Funcs: []string{"f"}}
	anywhere := belfry.WorkerInfo{Namespace: belfry.AnyNamespace}
	for what, ok := range map[string]bool{
		"its namespace":                  w.RunsIn("a"),
		"no other":                       !w.RunsIn("b"),
		"any":                            anywhere.RunsIn("b"),
		"its kinds":                      w.Runs(belfry.KindFunc) && w.Runs(belfry.KindCommand),
		"no other kind":                  !w.Runs(belfry.KindHTTP),
		"its handler":                    w.Handles(belfry.KindFunc, "f"),
		"no other handler":               !w.Handles(belfry.KindFunc, "g"),
		"a kind that needs none of them": w.Handles(belfry.KindCommand, "g"),
	} {
		if !ok {
			t.Error(what)
		}
	}
}
