// Package workflows keeps the runs of workflows. [Store] locks a run, lets package workflow decide which steps begin, and
// enqueues them in the same transaction. The end of a step reaches its run through the hooks of package store. A transition
// locks jobs first, and then its runs in the order of their ids.
package workflows

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/steps"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the runs of workflows.
type Store struct {
	*base.Store
	jobs  *jobs.Store
	steps *steps.Store
	tasks *tasks.Store
	rest  rest
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, steps *steps.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, steps: steps, tasks: tasks}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

// write runs a transition. The consequences of all ends in the transition are handled together.
func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(b *base.Change) error {
		c := s.In(b)
		s.jobs.Hooks.Gather(c.jobs())
		if err := fn(c); err != nil {
			return err
		}
		return s.jobs.Hooks.Follow(c.jobs())
	})
}
