// Package bounds lets new jobs in: as far as the quotas of their namespaces allow, and into queues of which only so many
// may wait.
//
// A queue without a bound costs nothing: what is known of queues with limits says that it has none. One with a bound has a
// row, which is the lock under which new jobs are let in. It says how many jobs waited when they were last counted, and
// how many were let in since: that is never less than how many wait, so what is let in never goes beyond the bound, on any
// number of nodes. Only when there seems to be no room are the jobs counted again, and no further than the bound.
package bounds

import (
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
)

// Store lets jobs into queues with bounds.
type Store struct {
	*base.Store
	queues *queues.Store
	quotas *quotas.Store

	// Drop ends jobs that wait, with a note why.
	Drop func(c *base.Change, jobs []int64, note string) error

	mu    sync.Mutex
	looks map[string]look // by queue
}

// New is the part of a store that lets them in.
func New(b *base.Store, queues *queues.Store, quotas *quotas.Store) *Store {
	return &Store{Store: b, queues: queues, quotas: quotas, looks: map[string]look{}}
}

// Change is a transition under way, with what this package does in it.
type Change struct {
	*base.Change
	s *Store
}

// In is a transition under way for this package.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// counts reports that a job counts in the bound of its queue.
func counts(j *job.Job) bool { return place(j) != job.PlaceNone }

func place(j *job.Job) job.Place { return job.PlaceIn(j.Kind, j.Trigger, j.Attempt) }

// Marks say how a new job counts.
type Marks struct{ Metered, Bounded int }

// Mark answers how n new jobs count in the quotas of their namespaces and the bounds of their queues.
func (c *Change) Mark(n int, at func(i int) *job.Job) ([]Marks, error) {
	bounded, err := c.Of(queuesOf(n, at))
	if err != nil {
		return nil, err
	}
	marks, quotas := make([]Marks, n), c.s.quotas.In(c.Change)
	for i := range n {
		j := at(i)
		if bounded[j.Queue].Bounded() {
			marks[i].Bounded = int(place(j))
		}
		if marks[i].Metered, err = quotas.Metered(j.Namespace); err != nil {
			return nil, err
		}
	}
	return marks, nil
}

// queuesOf are the queues of jobs, most of which are alike.
func queuesOf(n int, at func(i int) *job.Job) (names []string) {
	for i := range n {
		if q := at(i).Queue; len(names) == 0 || names[len(names)-1] != q {
			names = append(names, q)
		}
	}
	return names
}

// Full is a refusal as it is counted: once.
type Full struct {
	Queue string
	Jobs  int // that were asked for
	told  sync.Once
}

func (f *Full) Error() string { return "queue " + f.Queue + " is full" }

func refuse(q job.Queue, waiting, asked, droppable int) error {
	e := q.Full(waiting, asked, droppable)
	e.Err = &Full{Queue: q.Name, Jobs: asked}
	return e
}

// Of are the queues with bounds among those of jobs, and perhaps others. It asks nothing that new jobs do not ask anyway.
func (c *Change) Of(names []string) (map[string]job.Queue, error) {
	if len(names) == 0 {
		return nil, nil
	}
	special, err := c.s.queues.In(c.Change).Special(names, nil)
	return special.Queues, err
}

// How old a count may become while jobs are let in: those that are never refused, such as retries and steps of
// workflows, are seen by the next one.
const countFor = 5 * time.Second

// A count that found no room is not repeated for as long as it takes to spend a twentieth of the time on counting.
const countShare = 20

// shed is how many jobs more than it needs room for an enqueue drops at most, where a queue has more than its bound.
const shed = 500

// markStep is how many jobs one transition looks at for those that are in a queue since before it had a bound.
const markStep = 5000

// settled is how long after a queue has got a bound other nodes may still make jobs that do not count.
const settled = 2 * time.Second
