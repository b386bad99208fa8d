// Package definitions plans, applies and prunes manifests of definitions of all nouns. [Store] calls the packages of the nouns
// within one transaction: a manifest is applied whole or not at all. A dry run does the same and rolls back. Definitions that
// a manifest does not name are deleted only if the caller asks to prune.
package definitions

import (
	"context"

	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/monitors"
	"github.com/belfry-run/belfry/store/programs"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/schedules"
	"github.com/belfry-run/belfry/store/tasks"
)

// Store plans, applies and prunes manifests of definitions of all nouns.
type Store struct {
	*base.Store
	monitors  *monitors.Store
	programs  *programs.Store
	queues    *queues.Store
	schedules *schedules.Store
	tasks     *tasks.Store
}

// New is the part of a store that keeps them.
func New(b *base.Store, monitors *monitors.Store, programs *programs.Store, queues *queues.Store, schedules *schedules.Store, tasks *tasks.Store) *Store {
	return &Store{Store: b, monitors: monitors, programs: programs, queues: queues, schedules: schedules, tasks: tasks}
}

// Change is a transition in progress, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) monitors() *monitors.Change { return c.s.monitors.In(c.Change) }

func (c *Change) programs() *programs.Change { return c.s.programs.In(c.Change) }

func (c *Change) queues() *queues.Change { return c.s.queues.In(c.Change) }

func (c *Change) schedules() *schedules.Change { return c.s.schedules.In(c.Change) }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (s *Store) write(ctx context.Context, name string, fn func(c *Change) error) error {
	return s.Write(ctx, name, func(c *base.Change) error { return fn(s.In(c)) })
}
