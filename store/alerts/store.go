// Package alerts keeps the alert rules, the channels and the outbox. [Store] is used by the engine, which sends, by the API,
// and by the hooks that package store sets. A transition that finds something to notify adds its alerts to the outbox before
// it commits, so none is lost or sent for a change that was rolled back. A node takes the due alerts of a channel with a
// deadline; after it another node may send them again. Secrets of channels are sealed in their rows.
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

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) monitors() *monitors.Change { return c.s.monitors.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
