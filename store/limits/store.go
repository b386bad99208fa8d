// Package limits admits jobs under the limits of tasks, queues and namespaces. A job with limits is ready only when all of
// them have capacity. Until then it waits under the first limit key that has none. A claim looks at no limit.
//
//   - gate: a limit that a job must pass, with its numbers read ([job.Gate]); a strict gate is a sequence.
//   - limit key: one value of the key of a limit, such as one customer; a row of limit_keys, which is also its lock.
//   - waiting job: a job that waits under a key until the key has capacity.
//   - admitted job: a job that is ready or running and counts under each of its keys.
//   - capacity: how many more jobs a key may admit, by its running limit and its rate.
//   - admission: the decision whether a due job, or a waiting job, is admitted.
//   - release: removes a job from its keys when it ends or waits for a retry; then waiting jobs may be admitted.
//   - look: a check by the engine whether a key can admit waiting jobs; look_at has its time.
//
// The admitted jobs of a key are its rows in limit_jobs. Each row changes in the transaction that changes its job, under the
// lock of the key, so no stored count can be wrong.
package limits

import (
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/tasks"
	"github.com/belfry-run/belfry/store/turns"
)

// Store admits jobs under limits.
type Store struct {
	*base.Store
	queues *queues.Store
	tasks  *tasks.Store
	turns  *turns.Store

	Delayed base.DueMark // of scheduled jobs
	ages    agePositions
	// Skip ends waiting jobs as skipped, with a note why.
	Skip func(c *base.Change, jobs []int64, note string) error
}

// New returns the part of a store that admits jobs under limits.
func New(b *base.Store, queues *queues.Store, tasks *tasks.Store, turns *turns.Store) *Store {
	s := &Store{Store: b, queues: queues, tasks: tasks, turns: turns}
	s.OnClockSet(s.Delayed.Drain)
	return s
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

func (c *Change) tasks() *tasks.Change { return c.s.tasks.In(c.Change) }

func (c *Change) turns() *turns.Change { return c.s.turns.In(c.Change) }

// Reason is the reason of a job that waits for a limit.
const Reason core.Reason = "limit"

// The stages of a job under one of its keys.
const (
	stageElsewhere = 0 // it waits under another key
	stageWaiting   = 1 // it waits here
	stageAdmitted  = 2 // it is ready or running
)
