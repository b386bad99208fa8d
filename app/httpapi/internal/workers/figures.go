package workers

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// ownQueue returns a queue with the job counts of a token's namespace, without
// the age of the oldest job.
func (s *server) ownQueue(ctx context.Context, t access.Token, q job.QueueStats) (job.QueueStats, error) {
	if api.EveryFigure(t) {
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

func (s *server) ownQueues(ctx context.Context, t access.Token, all []job.QueueStats) (_ []job.QueueStats, err error) {
	for i := range all {
		if all[i], err = s.ownQueue(ctx, t, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
