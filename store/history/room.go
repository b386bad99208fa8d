// Package history keeps what jobs have been: counts by the minute and day, and why one does not run.
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

// Store keeps what jobs have been: counts by the minute and day, and why one does not run.
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

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
