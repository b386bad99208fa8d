// Package tasks keeps the tasks, the limits of namespaces, and the requirements of tasks on workers. [Store] is used by the
// API, by definitions, and by the packages that create jobs. A change of a task goes to its programs, limits and waiting jobs
// through the hooks, in the same transaction. Requirements are shared rows: workers compare their ids.
package tasks

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
	"github.com/belfry-run/belfry/task"
)

// Store keeps the tasks, the limits of namespaces, and the requirements of tasks on workers.
type Store struct {
	*base.Store
	quotas *quotas.Store
	queues *queues.Store

	Hooks Hooks

	requirements requirements
	taskNames    base.Known[base.TaskName, task.Task]
	taskIDs      base.Known[int64, task.Task]
	taskDocs     base.Docs[int64, task.Task]
}

// New is the part of a store that keeps them.
func New(b *base.Store, quotas *quotas.Store, queues *queues.Store) *Store {
	return &Store{Store: b, quotas: quotas, queues: queues}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) quotas() *quotas.Change { return c.s.quotas.In(c.Change) }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
