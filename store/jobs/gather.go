package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// gathering puts calls of Enqueue that come at the same moment into one
// transaction. Whoever finds too few at it carries out what has gathered, his
// own first; those who come meanwhile wait, and the first of them is the next. So
// a lone call is not held up, and many cost little more than one.
type gathering struct {
	places  int  // how many may be at it
	late    bool // calls still join when the transaction begins
	mu      sync.Mutex
	atIt    int
	waiting []*asking
}

// newGathering is for a database across a wire, or one in this process. Across a
// wire the next can travel while one waits for the disk. In this process one
// writes at a time, so a second would only make two halves of what one takes; and
// its transaction may wait for others, in which time more calls come: they still
// join when it begins.
func newGathering(far bool) gathering {
	if far {
		return gathering{places: 2}
	}
	return gathering{places: 1, late: true}
}

// asking is one call.
type asking struct {
	actor string
	jobs  []job.NewJob
	out   []job.Enqueued
	err   error
	done  chan struct{}
	turn  chan struct{} // closed when its caller is to carry out what has gathered
}

const (
	maxGathered = core.MaxBatch // jobs of a transaction that was gathered

	// gatherPatience bounds a transaction of several callers, whose own bounds
	// do not hold for it.
	gatherPatience = 30 * time.Second
)

// Enqueue asks for jobs. All of them are made, or none. A job whose key is
// taken is not made again: the one that has the key is the answer.
func (s *Store) Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Opt.Claims.NoGather {
		return s.enqueueOnce(ctx, func() []job.NewJob { return ns })
	}
	a := &asking{actor: access.ActorOf(ctx), jobs: ns, done: make(chan struct{}), turn: make(chan struct{})}
	if !s.gather.join(a) {
		select {
		case <-a.done:
			s.gather.leave(a) // it may have got the turn just before
			return a.out, a.err
		case <-ctx.Done():
			if s.gather.leave(a) {
				return nil, ctx.Err()
			}
			<-a.done // it is being made, and the answer says whether it was
			return a.out, a.err
		case <-a.turn:
		}
	}
	if calls := s.gather.take(); len(calls) > 0 {
		s.enqueueTogether(ctx, calls)
	}
	s.gather.pass()
	<-a.done
	return a.out, a.err
}

// enqueueTogether makes the jobs of calls by the same actor. When one of them is
// refused, each is asked for alone; any other fault is the answer to all, for a
// commit whose answer was lost may have happened and must not be repeated. The
// end of one caller's context does not concern the others.
func (s *Store) enqueueTogether(ctx context.Context, calls []*asking) {
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatherPatience)
	defer cancel()
	if len(calls) > 1 || s.gather.late {
		ctx = all
	}
	out, err := s.enqueueOnce(ctx, func() (jobs []job.NewJob) {
		calls = s.gather.joined(calls)
		for _, a := range calls {
			jobs = append(jobs, a.jobs...)
		}
		return jobs
	})
	alone := len(calls) > 1 && refused(err)
	var each sync.WaitGroup
	defer each.Wait()
	for _, a := range calls {
		switch {
		case alone: // beside each other, so that they can share a commit at least
			each.Go(func() {
				a.out, a.err = s.enqueueOnce(all, func() []job.NewJob { return a.jobs })
				close(a.done)
			})
			continue
		case err != nil:
			a.err = err
		default:
			a.out, out = out[:len(a.jobs):len(a.jobs)], out[len(a.jobs):]
		}
		close(a.done)
	}
}

// refused reports that nothing was written, because of what was asked for.
func refused(err error) bool {
	switch core.CodeOf(err) {
	case core.Invalid, core.NotFound, core.Conflict, core.TooLarge, core.Forbidden:
		return true
	}
	return false
}

// enqueueOnce asks for the list of jobs once it is needed, and again where it is
// begun again.
func (s *Store) enqueueOnce(ctx context.Context, jobs func() []job.NewJob) (out []job.Enqueued, err error) {
	a := along{s: s}
	defer func() { a.end(err) }()
	ahead := func(c *Change) {
		ns := jobs()
		if n := len(ns); n > 0 && n <= core.MaxBatch {
			_, _ = c.tasks().TasksByName(taskNames(ns))
			_, _ = c.SQL.NextIDs(ctx, c.Tx, "job", n)
			if !s.Opt.Claims.NoJoin {
				a.foresee(c, ns)
			}
		}
	}
	err = s.writeAhead(ctx, "enqueue", ahead, func(c *Change) error {
		out, err = c.enqueue(jobs(), a.begin())
		return err
	})
	return out, err
}

// join adds a call, and reports whether its caller is to carry it out at once.
func (g *gathering) join(a *asking) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.atIt >= g.places {
		g.waiting = append(g.waiting, a)
		return false
	}
	g.atIt++
	g.waiting = append([]*asking{a}, g.waiting...)
	return true
}

// leave takes back a call that nobody has begun with, and passes on its turn.
func (g *gathering) leave(a *asking) bool {
	g.mu.Lock()
	i := slices.Index(g.waiting, a)
	if i >= 0 {
		g.waiting = slices.Delete(slices.Clone(g.waiting), i, i+1)
	}
	g.mu.Unlock()
	select {
	case <-a.turn: // just now; somebody else has to
		g.pass()
	default:
	}
	return i >= 0
}

// pass gives the turn to the first who waits.
func (g *gathering) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, next := range g.waiting {
		select {
		case <-next.turn: // has it from the other already
		default:
			close(next.turn)
			return
		}
	}
	g.atIt--
}

// take is the next calls to carry out together: those of one actor, in their
// order.
func (g *gathering) take() []*asking {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.more(nil)
}

// joined is calls that are being carried out, and those that can still join them.
func (g *gathering) joined(calls []*asking) []*asking {
	if !g.late {
		return calls
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.more(calls)
}

// more adds to calls the first of those that wait, as far as they fit together.
func (g *gathering) more(calls []*asking) []*asking {
	together, jobs := calls, 0
	for _, a := range calls {
		jobs += len(a.jobs)
	}
	for _, a := range g.waiting {
		jobs += len(a.jobs)
		if len(together) > 0 && (a.actor != together[0].actor || jobs > maxGathered) {
			break
		}
		together = append(together, a)
	}
	g.waiting = g.waiting[len(together)-len(calls):]
	return together
}
