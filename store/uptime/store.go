// Package uptime keeps the history of monitors: results rolled up by the hour and day, series, bars, and the content of status
// pages.
package uptime

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/monitors"
)

// Store keeps the history of monitors.
type Store struct {
	*base.Store
	history  *history.Store
	monitors *monitors.Store
}

// New is the part of a store that keeps it.
func New(b *base.Store, history *history.Store, monitors *monitors.Store) *Store {
	return &Store{Store: b, history: history, monitors: monitors}
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
