package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/belfry-run/belfry"
)

// everyFigure reports that a token may see figures of all namespaces. The others
// see those of their own: the load of one namespace is no business of another.
func everyFigure(t belfry.Token) bool { return t.Namespace == belfry.AnyNamespace }

// ownQueue is a queue with the jobs of a token's namespace in it. Since when the
// oldest waits is left out.
func (s *Server) ownQueue(ctx context.Context, t belfry.Token, q belfry.QueueStats) (belfry.QueueStats, error) {
	if everyFigure(t) {
		return q, nil
	}
	own := belfry.QueueStats{Queue: q.Queue}
	for state, to := range map[belfry.JobState]*int{belfry.JobReady: &own.Ready, belfry.JobScheduled: &own.Scheduled, belfry.JobRunning: &own.Running} {
		n, err := s.service.CountJobs(ctx, belfry.JobFilter{Namespace: t.Namespace, Queue: q.Name, States: []belfry.JobState{state}}, belfry.CountOptions{Cap: belfry.CountLimit})
		if err != nil {
			return own, err
		}
		if *to = n.Count; n.Count >= belfry.CountLimit && n.More {
			*to = belfry.CountLimit + 1
		}
	}
	return own, nil
}

func (s *Server) ownQueues(ctx context.Context, t belfry.Token, all []belfry.QueueStats) (_ []belfry.QueueStats, err error) {
	for i := range all {
		if all[i], err = s.ownQueue(ctx, t, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ownCount leaves out how many rows of everybody were looked at.
func ownCount(t belfry.Token, n belfry.JobCount) belfry.JobCount {
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
func ownWorkers(t belfry.Token, all []belfry.WorkerState) []belfry.WorkerState {
	all = slices.DeleteFunc(all, func(w belfry.WorkerState) bool { return !runsFor(w.Namespace, t.Namespace) })
	for i, w := range all {
		if !everyFigure(t) && w.Namespace != t.Namespace {
			all[i].Running = 0
		}
	}
	return all
}

// ownHealth is the state of a node without what all namespaces make of it.
func (s *Server) ownHealth(ctx context.Context, t belfry.Token, h belfry.Health) (belfry.Health, error) {
	if everyFigure(t) {
		return h, nil
	}
	workers, err := s.service.Workers(ctx, false)
	h.Workers, h.ScheduleLag = len(ownWorkers(t, workers)), 0
	return h, err
}

// ownWhy leaves out how many workers there are and how many jobs of everybody run.
func ownWhy(t belfry.Token, w belfry.Why) belfry.Why {
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
