// Package tokens keeps the tokens and the sign-ins of people. [Store] is used by the API, which asks it for the rights of each
// caller. Rows hold a hash of each secret, never the secret.
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

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
