// Package bounds admits new jobs: under the quotas of their namespaces, and under the bounds of their queues. A bound is the
// largest number of jobs that may wait in a queue.
//
// A queue without a bound costs no query: the cached special queues ([queues.Special]) show that it has none. A queue with a bound
// has a row in queue_bounds, under whose lock new jobs are admitted. The row has the number of waiting jobs at the last count, and
// the number of jobs that were admitted since. Their sum is never less than the number of waiting jobs, so a bound holds on any
// number of nodes. Only when the sum leaves too little capacity are the jobs counted again, and no further than the bound.
package bounds

import (
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/queues"
	"github.com/belfry-run/belfry/store/quotas"
)

// Store admits jobs to queues with bounds.
type Store struct {
	*base.Store
	queues *queues.Store
	quotas *quotas.Store

	// Drop ends waiting jobs as dropped, with a note why.
	Drop func(c *base.Change, jobs []int64, note string) error

	mu         sync.Mutex
	lastCounts map[string]lastCount // by queue
}

// New returns the part of a store that admits jobs to queues.
func New(b *base.Store, queues *queues.Store, quotas *quotas.Store) *Store {
	return &Store{Store: b, queues: queues, quotas: quotas, lastCounts: map[string]lastCount{}}
}

// Change is a transition under way, with the methods of this package.
type Change struct {
	*base.Change
	s *Store
}

// In adds the methods of this package to a transition.
func (s *Store) In(c *base.Change) *Change { return &Change{c, s} }

// counts reports whether a job counts in the bound of its queue.
func counts(j *job.Job) bool { return place(j) != job.PlaceNone }

func place(j *job.Job) job.Place { return job.PlaceIn(j.Kind, j.Trigger, j.Attempt) }

// Marks say how a new job counts.
type Marks struct{ Metered, Bounded int }

// Mark returns how n new jobs count in the quotas of their namespaces and the bounds of their queues.
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

// queuesOf returns the queues of jobs. Adjacent jobs are mostly of one queue, which it returns once.
func queuesOf(n int, at func(i int) *job.Job) (names []string) {
	for i := range n {
		if q := at(i).Queue; len(names) == 0 || names[len(names)-1] != q {
			names = append(names, q)
		}
	}
	return names
}

// Full is the cause of a refusal by a full queue. The observer counts it once.
type Full struct {
	Queue string
	Jobs  int // requested jobs
	told  sync.Once
}

func (f *Full) Error() string { return "queue " + f.Queue + " is full" }

func refuse(q job.Queue, waiting, asked, droppable int) error {
	e := q.Full(waiting, asked, droppable)
	e.Err = &Full{Queue: q.Name, Jobs: asked}
	return e
}

// Of returns the queues with bounds among the named queues, and perhaps others. New jobs make the same query anyway.
func (c *Change) Of(names []string) (map[string]job.Queue, error) {
	if len(names) == 0 {
		return nil, nil
	}
	special, err := c.s.queues.In(c.Change).Special(names, nil)
	return special.Queues, err
}

// countFor is the largest age of a count by which jobs are admitted. The next count includes jobs that are never refused, such as
// retries and steps of workflows.
const countFor = 5 * time.Second

// countShare limits counting to 1/countShare of the time: a count without capacity is not repeated before.
const countShare = 20

// shed is how many jobs an enqueue drops at most beyond its own need, if a queue has more jobs than its bound.
const shed = 500

// markStep is how many jobs one transition reads to find jobs that are older than the bound of their queue.
const markStep = 5000

// settled is how long after a queue got a bound other nodes may still make jobs that do not count.
const settled = 2 * time.Second
