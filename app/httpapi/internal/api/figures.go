package api

import (
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// EveryFigure reports that a token may see figures of all namespaces. The others
// see those of their own: the load of one namespace is no business of another.
func EveryFigure(t access.Token) bool { return t.Namespace == core.AnyNamespace }

// OwnWorkers leaves the workers that may run jobs of a token's namespace. How
// many jobs those hold that run jobs of others too is left out.
func OwnWorkers(t access.Token, all []job.WorkerState) []job.WorkerState {
	all = slices.DeleteFunc(all, func(w job.WorkerState) bool { return !runsFor(w.Namespace, t.Namespace) })
	for i, w := range all {
		if !EveryFigure(t) && w.Namespace != t.Namespace {
			all[i].Running = 0
		}
	}
	return all
}

// runsFor reports whether a worker of one namespace may run jobs of another.
func runsFor(worker, namespace string) bool {
	return namespace == core.AnyNamespace || worker == "" || worker == core.AnyNamespace || worker == namespace
}
