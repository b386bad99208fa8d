// Package monitors keeps the monitors: their state, results, incidents, pages and windows.
package monitors

import (
	"context"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the monitors: their state, results, incidents, pages and windows.
type Store struct {
	*base.Store
	jobs      *jobs.Store
	schedules *schedules.Store
	tasks     *tasks.Store

	Hooks Hooks

	judged      *judged
	monitorDocs base.Docs[int64, monitor.Monitor]
	windowPlans windowPlans
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, schedules *schedules.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, schedules: schedules, tasks: tasks, judged: newJudged()}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) schedules() *schedules.Change { return c.s.schedules.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
