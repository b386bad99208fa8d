// Package samples keeps the numbers of waiting jobs in queues over time. The engine takes a sample each minute, once for all
// nodes, and pages read the samples. A sample counts up to a bound, so its cost does not grow with a backlog.
package samples

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
)

// Store keeps the numbers of waiting jobs in queues over time.
type Store struct {
	*base.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store) *Store { return &Store{Store: b} }

func (s *Store) write(ctx context.Context, name string, fn func(c *base.Change) error) error {
	return s.Write(ctx, name, fn)
}
