// Package remote keeps the state for remote workers: tickets, and attempts that report by themselves.
package remote

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/workers"
)

// Store keeps the state for remote workers: tickets, and attempts that report by themselves.
type Store struct {
	*base.Store
	jobs     *jobs.Store
	programs *programs.Store
	tasks    *tasks.Store
	workers  *workers.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, programs *programs.Store, tasks *tasks.Store, workers *workers.Store) *Store {
	return &Store{Store: b, jobs: jobs, programs: programs, tasks: tasks, workers: workers}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) workers() *workers.Change { return c.s.workers.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
