// Package steps keeps what attempts record of their jobs while they run: steps, waits, signals and progress. [Store] is used
// by workers through the broker, and by the hook that ends an attempt. A write must come from the session that holds the
// lease; otherwise it is answered as stale and changes nothing. Steps of a job are numbered without gaps, and a recorded step
// never changes.
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

	pruned [5]atomic.Int64 // the last job that [Change.Prune] looked at, for each table
}

// New is the part of a store that keeps them.
func New(b *base.Store, jobs *jobs.Store) *Store { return &Store{Store: b, jobs: jobs} }

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) jobs() *jobs.Change { return c.s.jobs.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
