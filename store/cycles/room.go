// Package cycles keeps the runs of cycles.
package cycles

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the runs of cycles.
type Store struct {
	*base.Store
	jobs  *jobs.Store
	tasks *tasks.Store

	Hooks Hooks
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, tasks: tasks}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

// write runs a transition. What follows from all ends in it follows together.
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
