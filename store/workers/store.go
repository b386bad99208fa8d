// Package workers keeps the sessions of workers. [Store] opens, renews, drains and closes them, and releases the jobs of lost
// ones through the same transition as a finish. Liveness is per session: a job refers to its session and has no heartbeat of
// its own. A remote session counts as lost only for a silence during which a node listened.
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

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (c *Change) tokens() *tokens.Change { return c.s.tokens.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
