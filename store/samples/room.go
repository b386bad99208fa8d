// Package samples keeps how many jobs waited in queues over time.
package samples

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
)

// Store keeps how many jobs waited in queues over time.
type Store struct {
	*base.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store) *Store { return &Store{Store: b} }

func (s *Store) write(ctx context.Context, name string, fn func(c *base.Change) error) error {
	return s.Write(ctx, name, fn)
}
