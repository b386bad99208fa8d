// Package history keeps the history of jobs, counts by minute and day, and explains why a job does not run. [Store] is used by
// the engine, which rolls up and prunes, and by pages and the API, which read. The final rates of a minute are written once,
// under a mark that one node moves; days outlive the jobs that they count.
package history

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/workflows"
)

// Store keeps the history of jobs, counts by minute and day, and explains why a job does not run.
type Store struct {
	*base.Store
	jobs      *jobs.Store
	limits    *limits.Store
	queues    *queues.Store
	schedules *schedules.Store
	tasks     *tasks.Store
	workflows *workflows.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, limits *limits.Store, queues *queues.Store, schedules *schedules.Store, tasks *tasks.Store, workflows *workflows.Store) *Store {
	return &Store{Store: b, jobs: jobs, limits: limits, queues: queues, schedules: schedules, tasks: tasks, workflows: workflows}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
