// Package uptime keeps what monitors have been: results rolled up by the hour and day, series, bars, and status pages as
// they are shown.
package uptime

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/monitors"
)

// Store keeps what monitors have been.
type Store struct {
	*base.Store
	history  *history.Store
	monitors *monitors.Store
}

// New is the part of a store that keeps it.
func New(b *base.Store, history *history.Store, monitors *monitors.Store) *Store {
	return &Store{Store: b, history: history, monitors: monitors}
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
