// Package limits keeps who waits for a limit. A job of a task with limits is ready only when all of them have room;
// until then it waits under the key of the first that has none. Nothing of that is asked by a claim.
//
// A key has admitted the jobs that have a row under it, each of which comes and goes with a change of its job in the same
// transaction: there is no number that could be wrong. The row of the key is the lock under which they change.
package limits

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/turns"
)

// Store keeps who waits for a limit.
type Store struct {
	*base.Store
	queues *queues.Store
	tasks  *tasks.Store
	turns  *turns.Store

	Delayed base.DueMark // of jobs
	ages    ages
	// Skip ends jobs that wait, with a note why.
	Skip func(c *base.Change, jobs []int64, note string) error
}

// New is the part of a store that keeps them.
func New(b *base.Store, queues *queues.Store, tasks *tasks.Store, turns *turns.Store) *Store {
	s := &Store{Store: b, queues: queues, tasks: tasks, turns: turns}
	s.OnClockSet(s.Delayed.Drain)
	return s
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (c *Change) turns() *turns.Change { return c.s.turns.In(c.Change) }

// Reason is that of a job which waits for a limit.
const Reason core.Reason = "limit"

// The stages of a job under one of its keys.
const (
	passed  = 0 // it waits under another key
	parked  = 1 // it waits here
	entered = 2 // it is ready or running
)
