// Package steps keeps what attempts record of their jobs while they run.
package steps

import (
	"context"
	"sync/atomic"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/jobs"
)

// Store keeps what attempts record of their jobs while they run.
type Store struct {
	*base.Store
	jobs *jobs.Store

	pruned [5]atomic.Int64 // the last job that [Change.Prune] has looked at, of each of its tables
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store) *Store { return &Store{Store: b, jobs: jobs} }

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
