package jobs

import (
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/job"
)

// ownCount removes the number of scanned rows, which include rows of other namespaces.
func ownCount(t access.Token, n job.Count) job.Count {
	if api.EveryFigure(t) {
		return n
	}
	n.Looked = 0
	for state, c := range n.States {
		c.Looked = 0
		n.States[state] = c
	}
	return n
}

// ownWhy removes the numbers of workers and of running jobs of all namespaces.
func ownWhy(t access.Token, w job.Why) job.Why {
	if api.EveryFigure(t) {
		return w
	}
	for i, c := range w.Checks {
		if strings.HasPrefix(c.Name, "a worker ") || c.Name == "queue is under its global limit" || c.Name == "no job goes first" {
			w.Summary = strings.Replace(w.Summary, " ("+c.Detail+")", "", 1)
			w.Checks[i].Detail = ""
		}
	}
	return w
}
