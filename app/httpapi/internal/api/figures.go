package api

import (
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// EveryFigure reports whether a token may see figures of all namespaces. Other
// tokens see those of their own namespace alone: the load of others is private.
func EveryFigure(t access.Token) bool { return t.Namespace == core.AnyNamespace }

// OwnWorkers returns the workers that may run jobs of a token's namespace. For
// workers that also serve other namespaces, the number of running jobs is hidden.
func OwnWorkers(t access.Token, all []job.WorkerState) []job.WorkerState {
	all = slices.DeleteFunc(all, func(w job.WorkerState) bool { return !runsFor(w.Namespace, t.Namespace) })
	for i, w := range all {
		if !EveryFigure(t) && w.Namespace != t.Namespace {
			all[i].Running, all[i].RunningByQueue = 0, nil
		}
	}
	return all
}

// runsFor reports whether a worker of one namespace may run jobs of another.
func runsFor(worker, namespace string) bool {
	return namespace == core.AnyNamespace || worker == "" || worker == core.AnyNamespace || worker == namespace
}
