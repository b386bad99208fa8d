// Package jobs keeps the jobs: enqueue, claim and settle.
package jobs

import (
	"context"
	"sync"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store keeps the jobs: enqueue, claim and settle.
type Store struct {
	*base.Store
	queues *queues.Store
	tasks  *tasks.Store

	Hooks Hooks

	path    path
	water   *lowWater
	Delayed base.DueMark
	gather  gathering
	lanes   lanes

	rows         rowPool
	went         sync.Map // queue by task: where its last jobs went, and who may wait for the next
	usual        sync.Map // task by queue: of which a claim was, and the next may be
	queuesRead   base.Known[string, job.Queue]
	sessionsRead base.Known[string, job.WorkerState]
	sessionDocs  base.Docs[string, job.WorkerInfo]
}

// New is the part of a store that keeps them.
func New(b *base.Store, queues *queues.Store, tasks *tasks.Store) *Store {
	s := &Store{Store: b, queues: queues, tasks: tasks}
	s.setUp()
	return s
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}

func (s *Store) writeAhead(ctx context.Context, name string, ahead func(c *Change), fn func(c *Change) error) error {
	return s.WriteAhead(ctx, name, func(c *base.Change) { ahead(s.In(c)) }, func(c *base.Change) error { return fn(s.In(c)) })
}

func (s *Store) begin(ctx context.Context) *Change { return s.In(s.Begin(ctx)) }
