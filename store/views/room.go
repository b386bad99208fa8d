// Package views keeps the overviews, the gauges and the health of a database.
package views

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/uptime"
	"github.com/belfry-run/belfry/store/workers"
	"github.com/belfry-run/belfry/store/zones"
)

// Store keeps the overviews, the gauges and the health of a database.
type Store struct {
	*base.Store
	history   *history.Store
	monitors  *monitors.Store
	schedules *schedules.Store
	search    *search.Store
	tasks     *tasks.Store
	uptime    *uptime.Store
	workers   *workers.Store
	zones     *zones.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, history *history.Store, monitors *monitors.Store, schedules *schedules.Store, search *search.Store, tasks *tasks.Store, uptime *uptime.Store, workers *workers.Store, zones *zones.Store) *Store {
	return &Store{Store: b, history: history, monitors: monitors, schedules: schedules, search: search, tasks: tasks, uptime: uptime, workers: workers, zones: zones}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
