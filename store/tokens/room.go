// Package tokens keeps the tokens and the sign-ins of people.
package tokens

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
)

// Store keeps the tokens and the sign-ins of people.
type Store struct {
	*base.Store
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
