//go:build linux

package rates

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
)

// Keys measures jobs of a task with a limit by key. All keys have the same number of jobs.
type Keys struct {
	Jobs, Keys int
	Limits     []flow.Limit // none, for comparison
}

// LiveAndDie enqueues the jobs in bulk and runs them.
func (k Keys) LiveAndDie(ctx context.Context, s *database.Site, st *store.Store) (enqueue, burn Work, err error) {
	if _, err := st.CreateTask(ctx, task.Task{Name: database.Noop, Kind: task.KindFunc, Limits: k.Limits}); err != nil {
		return enqueue, burn, err
	}
	m, err := s.Meter(ctx)
	if err != nil {
		return enqueue, burn, err
	}
	for enqueue.Jobs < k.Jobs {
		jobs := make([]job.NewJob, min(bulk, k.Jobs-enqueue.Jobs))
		for i := range jobs {
			jobs[i] = job.NewJob{Task: database.Noop, Input: json.RawMessage(fmt.Sprintf(`{"key":%d}`, (enqueue.Jobs+i)%k.Keys))}
		}
		if _, err := st.Enqueue(ctx, jobs); err != nil {
			return enqueue, burn, err
		}
		enqueue.Jobs += len(jobs)
	}
	if enqueue.Usage, err = m.Read(ctx); err != nil {
		return enqueue, burn, err
	}
	burn, err = Burn(ctx, s, st, k.Jobs, node.Tuning{})
	return enqueue, burn, err
}
