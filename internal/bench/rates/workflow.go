//go:build linux

package rates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Fan measures a workflow of many parallel steps and a join that needs them all.
type Fan struct {
	Steps int // parallel
	Runs  int // one after another
}

// Run returns the steps per second, from the call that starts a run to the begin of its join.
func (f Fan) Run(ctx context.Context, s *database.Site, st *store.Store) (w Work, err error) {
	var h worker.Handlers
	node.Nothing(&h)
	joined := make(chan struct{}, 1)
	worker.Handle(&h, "join", func(context.Context, struct{}) (struct{}, error) {
		joined <- struct{}{}
		return struct{}{}, nil
	})
	for _, t := range []task.Task{
		{Name: database.Noop, Kind: task.KindFunc}, {Name: "join", Kind: task.KindFunc},
		{Name: "fan", Kind: task.KindWorkflow, Workflow: &task.Workflow{Steps: []task.Step{
			{Name: "each", Task: database.Noop, ForEach: fmt.Sprintf("1..%d", f.Steps), Input: map[string]string{"n": "item"}},
			{Name: "join", Task: "join", Needs: []string{"each"}, Input: map[string]string{}},
		}}},
	} {
		if _, err := st.CreateTask(ctx, t); err != nil {
			return w, err
		}
	}
	run, err := node.Embed(ctx, st, node.Tuning{}, &h, node.NewTally())
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, run.Stop()) }()
	start := func() error {
		if _, err := st.Enqueue(ctx, []job.NewJob{{Task: "fan"}}); err != nil {
			return err
		}
		select {
		case <-joined:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := start(); err != nil { // warms the caches
		return w, err
	}
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	for range f.Runs {
		if err := start(); err != nil {
			return w, err
		}
		w.Jobs += f.Steps + 1
	}
	w.Usage, err = m.Read(ctx)
	return w, err
}

// Sleepers starts n workflows that sleep for a month, and waits until all of them sleep.
func Sleepers(ctx context.Context, st *store.Store, n int) error {
	month := core.Duration(30 * 24 * time.Hour)
	if _, err := st.CreateTask(ctx, task.Task{Name: "asleep", Kind: task.KindWorkflow, Timeout: 2 * month, Workflow: &task.Workflow{Steps: []task.Step{{Name: "month", Sleep: month}}}}); err != nil {
		return err
	}
	for left := n; left > 0; {
		jobs := make([]job.NewJob, min(bulk, left))
		for i := range jobs {
			jobs[i] = job.NewJob{Task: "asleep"}
		}
		if _, err := st.Enqueue(ctx, jobs); err != nil {
			return err
		}
		left -= len(jobs)
	}
	for {
		started, err := st.StartWorkflows(ctx)
		if err != nil || started.Jobs == 0 {
			return err
		}
	}
}
