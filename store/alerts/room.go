// Package alerts keeps the alert rules, the channels and the outbox.
package alerts

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/subscribers"
)

// Store keeps the alert rules, the channels and the outbox.
type Store struct {
	*base.Store
	monitors    *monitors.Store
	subscribers *subscribers.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, monitors *monitors.Store, subscribers *subscribers.Store) *Store {
	return &Store{Store: b, monitors: monitors, subscribers: subscribers}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) monitors() *monitors.Change { return c.s.monitors.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
