// Package zones keeps the data of time zones, and replans schedules when a new release changes it. All nodes of a database
// compute with the newest release that any of them brought. A schedule is replanned in the transaction that adopts the data of
// its zone.
package zones

import (
	"context"

	"github.com/belfry-run/belfry/store/alerts"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/schedules"
)

// Store keeps the data of time zones, and replans schedules when a new release changes it.
type Store struct {
	*base.Store
	alerts    *alerts.Store
	monitors  *monitors.Store
	schedules *schedules.Store

	zones *zones
}

// New is the part of a store that keeps them.
func New(b *base.Store, alerts *alerts.Store, monitors *monitors.Store, schedules *schedules.Store) *Store {
	s := &Store{Store: b, alerts: alerts, monitors: monitors, schedules: schedules}
	s.setUp()
	return s
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) alerts() *alerts.Change { return c.s.alerts.In(c.Change) }

func (c *Change) monitors() *monitors.Change { return c.s.monitors.In(c.Change) }

func (c *Change) schedules() *schedules.Change { return c.s.schedules.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
