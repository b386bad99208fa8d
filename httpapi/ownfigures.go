package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// everyFigure reports that a token may see figures of all namespaces. The others
// see those of their own: the load of one namespace is no business of another.
func everyFigure(t access.Token) bool { return t.Namespace == core.AnyNamespace }

// ownQueue is a queue with the jobs of a token's namespace in it. Since when the
// oldest waits is left out.
func (s *Server) ownQueue(ctx context.Context, t access.Token, q job.QueueStats) (job.QueueStats, error) {
	if everyFigure(t) {
		return q, nil
	}
	own := job.QueueStats{Queue: q.Queue}
	for state, to := range map[job.State]*int{job.Ready: &own.Ready, job.Scheduled: &own.Scheduled, job.Running: &own.Running} {
		n, err := s.service.CountJobs(ctx, job.Filter{Namespace: t.Namespace, Queue: q.Name, States: []job.State{state}}, view.CountOptions{Cap: core.CountLimit})
		if err != nil {
			return own, err
		}
		if *to = n.Count; n.Count >= core.CountLimit && n.More {
			*to = core.CountLimit + 1
		}
	}
	return own, nil
}

func (s *Server) ownQueues(ctx context.Context, t access.Token, all []job.QueueStats) (_ []job.QueueStats, err error) {
	for i := range all {
		if all[i], err = s.ownQueue(ctx, t, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ownCount leaves out how many rows of everybody were looked at.
func ownCount(t access.Token, n job.Count) job.Count {
	if everyFigure(t) {
		return n
	}
	n.Looked = 0
	for state, c := range n.States {
		c.Looked = 0
		n.States[state] = c
	}
	return n
}

// ownWorkers leaves the workers that may run jobs of a token's namespace. How
// many jobs those hold that run jobs of others too is left out.
func ownWorkers(t access.Token, all []job.WorkerState) []job.WorkerState {
	all = slices.DeleteFunc(all, func(w job.WorkerState) bool { return !runsFor(w.Namespace, t.Namespace) })
	for i, w := range all {
		if !everyFigure(t) && w.Namespace != t.Namespace {
			all[i].Running = 0
		}
	}
	return all
}

// ownHealth is the state of a node without what all namespaces make of it.
func (s *Server) ownHealth(ctx context.Context, t access.Token, h view.Health) (view.Health, error) {
	if everyFigure(t) {
		return h, nil
	}
	workers, err := s.service.Workers(ctx, false)
	h.Workers, h.ScheduleLag = len(ownWorkers(t, workers)), 0
	return h, err
}

// ownWhy leaves out how many workers there are and how many jobs of everybody run.
func ownWhy(t access.Token, w job.Why) job.Why {
	if everyFigure(t) {
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
