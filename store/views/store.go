// Package views keeps the overviews, the gauges and the health of a database. [Store] only reads, mostly through the packages
// of the nouns. Pages repeat these reads while they are open, so counts end at a bound.
package views

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/history"
	"github.com/belfry-run/belfry/store/hooks"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/search"
	"github.com/belfry-run/belfry/store/steps"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/trials"
	"github.com/belfry-run/belfry/store/turns"
	"github.com/belfry-run/belfry/store/uptime"
	"github.com/belfry-run/belfry/store/workers"
	"github.com/belfry-run/belfry/store/workflows"
	"github.com/belfry-run/belfry/store/zones"
)

// Store keeps the overviews, the gauges and the health of a database.
type Store struct {
	*base.Store
	history   *history.Store
	hooks     *hooks.Store
	trials    *trials.Store
	monitors  *monitors.Store
	schedules *schedules.Store
	search    *search.Store
	steps     *steps.Store
	tasks     *tasks.Store
	turns     *turns.Store
	uptime    *uptime.Store
	workers   *workers.Store
	workflows *workflows.Store
	zones     *zones.Store

	quiet quietLook
}

// New is the part of a store that keeps them.
func New(b *base.Store, history *history.Store, hooks *hooks.Store, monitors *monitors.Store, schedules *schedules.Store, search *search.Store, steps *steps.Store, tasks *tasks.Store, trials *trials.Store, turns *turns.Store, uptime *uptime.Store, workers *workers.Store, workflows *workflows.Store, zones *zones.Store) *Store {
	return &Store{Store: b, history: history, hooks: hooks, monitors: monitors, schedules: schedules, search: search, steps: steps, tasks: tasks, trials: trials, turns: turns, uptime: uptime, workers: workers, workflows: workflows, zones: zones}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) hooks() *hooks.Change { return c.s.hooks.In(c.Change) }

func (c *Change) steps() *steps.Change { return c.s.steps.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (c *Change) turns() *turns.Change { return c.s.turns.In(c.Change) }

func (c *Change) workflows() *workflows.Change { return c.s.workflows.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
