// Package schedules keeps the schedules and calendars, and fires what is due. [Store.FireDue] is called by the engine of every
// node, without a leader: it locks due schedules, lets package schedule decide, and writes occurrences, jobs and the next
// times in one transaction. The high-water mark only rises, so no nominal time fires twice. Plans of rules are cached by
// schedule and generation, and read again after an edit.
package schedules

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/bounds"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the schedules and calendars, and what fires.
type Store struct {
	*base.Store
	bounds    *bounds.Store
	jobs      *jobs.Store
	leftovers *leftovers.Store
	quotas    *quotas.Store
	tasks     *tasks.Store

	Hooks Hooks

	plans *plans
	Due   base.DueMark // of schedules
}

// New is the part of a store that keeps them.
func New(b *base.Store, bounds *bounds.Store, jobs *jobs.Store, leftovers *leftovers.Store, quotas *quotas.Store, tasks *tasks.Store) *Store {
	s := &Store{Store: b, bounds: bounds, jobs: jobs, leftovers: leftovers, quotas: quotas, tasks: tasks}
	s.setUp()
	return s
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

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
