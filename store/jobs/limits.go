package jobs

import (
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/limits"
	"github.com/belfry-run/belfry/store/turns"
)

// Limits is the part of the store that admits jobs under limits.
func (s *Store) Limits() *limits.Store { return s.limits }

// Turns is the part of the store that keeps the turns of fair queues.
func (s *Store) Turns() *turns.Store { return s.turns }

func turnsOf(c *Change) *turns.Change { return c.s.turns.In(c.Change) }

func limitsOf(c *Change) *limits.Change { return c.s.limits.In(c.Change) }

// admit makes new jobs wait for which a limit has no capacity.
func admit(c *Change, ins []*Insertion) error {
	return limitsOf(c).AdmitNew(len(ins), func(i int) (*job.Job, []job.Gate, *bool) { return &ins[i].Job, ins[i].gates, &ins[i].Limited })
}
