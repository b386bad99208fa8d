// Package cycles keeps the runs of cycles. [Store] decides nothing itself: package cycle does, from the rows that it locks.
// Ends of members reach it through the hooks of package store, in the transaction that settles the member, so a cycle cannot
// stop between two members. A cycle has at most one run that has begun.
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
