// Package queues keeps the queues.
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

// Hooks are what other rooms do when a queue is saved.
type Hooks struct {
	// Limited follows an edit of a queue whose limits may be others than before.
	Limited func(c *base.Change, q job.Queue, before []flow.Limit) error
}

// New is the part of a store that keeps them.
func New(b *base.Store) *Store {
	return &Store{Store: b}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
