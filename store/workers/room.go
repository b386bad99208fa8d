// Package workers keeps the sessions of workers.
package workers

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/tokens"
)

// Store keeps the sessions of workers.
type Store struct {
	*base.Store
	jobs   *jobs.Store
	tasks  *tasks.Store
	tokens *tokens.Store

	listening listening
	floors    floors
	sight     sight
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store, tasks *tasks.Store, tokens *tokens.Store) *Store {
	return &Store{Store: b, jobs: jobs, tasks: tasks, tokens: tokens}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) tokens() *tokens.Change { return c.s.tokens.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
