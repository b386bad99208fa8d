// Package search keeps the search for jobs, bulk actions, and logs. [Store] reads live and finished jobs in the order of their
// ids, and stops after a bounded number of rows. A bulk action works in parts, each one transaction, and returns what it left
// out with the reason.
package search

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/cycles"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/leftovers"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/store/steps"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/workflows"
)

// Store keeps the search for jobs, bulk actions, and logs.
type Store struct {
	*base.Store
	cycles    *cycles.Store
	jobs      *jobs.Store
	leftovers *leftovers.Store
	programs  *programs.Store
	queues    *queues.Store
	quotas    *quotas.Store
	steps     *steps.Store
	tasks     *tasks.Store

	workflows *workflows.Store

	logSizes logSizes
}

// New is the part of a store that keeps them.
func New(b *base.Store, cycles *cycles.Store, jobs *jobs.Store, leftovers *leftovers.Store, programs *programs.Store, queues *queues.Store, quotas *quotas.Store, steps *steps.Store, tasks *tasks.Store, workflows *workflows.Store) *Store {
	return &Store{Store: b, cycles: cycles, jobs: jobs, leftovers: leftovers, programs: programs, queues: queues, quotas: quotas, steps: steps, tasks: tasks, workflows: workflows}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) cycles() *cycles.Change { return c.s.cycles.In(c.Change) }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) programs() *programs.Change { return c.s.programs.In(c.Change) }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (c *Change) quotas() *quotas.Change { return c.s.quotas.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (c *Change) workflows() *workflows.Change { return c.s.workflows.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}

func (s *Store) begin(ctx context.Context) *Change { return s.In(s.Begin(ctx)) }
