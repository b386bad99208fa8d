// Package programs keeps uploaded programs: artifacts, outputs and secrets.
package programs

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps uploaded programs: artifacts, outputs and secrets.
type Store struct {
	*base.Store
	jobs   *jobs.Store
	quotas *quotas.Store
	tasks  *tasks.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, quotas *quotas.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, jobs: jobs, quotas: quotas, tasks: tasks}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) quotas() *quotas.Change { return c.s.quotas.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
