// Package queues keeps the queues. [Store] reads and saves their concurrency, rates, bounds and pauses, and lists them with
// their numbers. Saving a queue locks its row; a pause takes effect for the next claim. Changes of limits reach waiting jobs
// through its hooks, in the same transaction.
package queues

import (
	"context"

	"github.com/belfry-run/belfry/flow"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Store keeps the queues.
type Store struct {
	*base.Store
	special base.Known[string, Special]

	Hooks Hooks
}

// Hooks are functions of other packages that run when a queue is saved.
type Hooks struct {
	// Limited applies an edit of a queue whose limits may have changed.
	Limited func(c *base.Change, q job.Queue, before []flow.Limit) error
}

// New returns the part of a store that keeps queues.
func New(b *base.Store) *Store {
	return &Store{Store: b}
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
