// Package gather makes one of the calls of Enqueue that come at the same moment: one transaction in a store, one request in a
// client.
package gather

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Calls are calls of Enqueue that are carried out together when they come at the same moment. A caller that finds a free place
// carries out what has gathered, its own first; those that come meanwhile wait, and the first of them is the next. So
// a lone call is not held up, and many cost little more than one.
type Calls struct {
	Most    int  // bytes of inputs that are carried out together; 0: any
	places  int  // how many may be at it
	Late    bool // calls still join when the transaction begins
	Rallies bool // callers that have just been answered are waited for: see [Calls.rally]
	mu      sync.Mutex
	atIt    int
	waiting []*Call

	answered int           // how many calls were answered together the last time
	took     time.Duration // how long that took
	rallying chan struct{} // closed when as many wait again; nil: they are not waited for
}

// New is for a database or a server across a wire, or a database in this process. Across a
// wire the next can travel while one waits for the disk. In this process one
// writes at a time, so a second would only make two halves of what one takes; and
// its transaction may wait for others, in which time more calls come: they still
// join when it begins.
func New(far bool) Calls {
	if far {
		return Calls{places: 2}
	}
	return Calls{places: 1, Late: true}
}

// Call is one call.
type Call struct {
	actor string
	Jobs  []job.NewJob
	bytes int // of their inputs
	out   []job.Enqueued
	err   error
	done  chan struct{}
	turn  chan struct{} // closed when its caller is to carry out what has gathered
}

// NewCall is a call that has not begun.
func NewCall(actor string, jobs []job.NewJob) *Call {
	a := &Call{actor: actor, Jobs: jobs, done: make(chan struct{}), turn: make(chan struct{})}
	for _, n := range jobs {
		a.bytes += len(n.Input)
	}
	return a
}

// Answer ends a call.
func (a *Call) Answer(out []job.Enqueued, err error) {
	a.out, a.err = out, err
	close(a.done)
}

// Wait is for the end of a call.
func (a *Call) Wait() ([]job.Enqueued, error) {
	<-a.done
	return a.out, a.err
}

// Left is that the context of a call ended before anybody had begun with it.
type Left struct{ Err error }

func (l Left) Error() string { return l.Err.Error() }
func (l Left) Unwrap() error { return l.Err }

const maxGathered = core.MaxBatch // jobs of calls that are carried out together

// Do has a call carried out, by itself or by the caller that carries out what has gathered. The end of its context ends it as long
// as it has not begun.
func (g *Calls) Do(ctx context.Context, actor string, jobs []job.NewJob, together func(ctx context.Context, calls []*Call)) ([]job.Enqueued, error) {
	a := NewCall(actor, jobs)
	if !g.join(a) {
		select {
		case <-a.done:
			g.leave(a) // it may have got the turn just before
			return a.out, a.err
		case <-ctx.Done():
			if g.leave(a) {
				return nil, Left{ctx.Err()}
			}
			return a.Wait() // it is being made, and the answer says whether it was
		case <-a.turn:
		}
	}
	g.rally(ctx)
	if calls := g.take(); len(calls) > 0 {
		if len(calls) > 1 || calls[0] != a { // its end does not concern others
			ctx = context.WithoutCancel(ctx)
		}
		begun := time.Now()
		together(ctx, calls)
		g.noteAnswered(len(calls), time.Since(begun))
	}
	g.pass()
	return a.Wait()
}

// join adds a call, and reports whether its caller is to carry it out at once.
func (g *Calls) join(a *Call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.atIt >= g.places || g.rallying != nil {
		g.waiting = append(g.waiting, a)
		g.rung()
		return false
	}
	g.atIt++
	g.waiting = append([]*Call{a}, g.waiting...)
	return true
}

// How long others are waited for: for a part of what the last calls took, and no longer than that.
const (
	rallyShare = 8
	rallyMost  = 5 * time.Millisecond
)

// rally waits until as many calls have gathered as were answered together the last time, or for a small part of what that
// took. Callers that ask for one job after the other come back at once: without it the first of them goes alone, and the
// others wait for its answer. A lone caller waits for no other.
func (g *Calls) rally(ctx context.Context) {
	g.mu.Lock()
	if !g.Rallies || g.rallying != nil || len(g.waiting) >= g.answered {
		g.mu.Unlock()
		return
	}
	there := make(chan struct{})
	g.rallying = there
	ends := time.NewTimer(min(g.took/rallyShare, rallyMost))
	g.mu.Unlock()
	defer ends.Stop()
	select {
	case <-there:
	case <-ends.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rallying = nil
}

// rung ends a wait for as many calls as there are now.
func (g *Calls) rung() {
	if g.rallying == nil || len(g.waiting) < g.answered {
		return
	}
	select {
	case <-g.rallying: // it has ended
	default:
		close(g.rallying)
	}
}

func (g *Calls) noteAnswered(calls int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.took = calls, took
}

// leave takes back a call that has not begun, and passes on its turn.
func (g *Calls) leave(a *Call) bool {
	g.mu.Lock()
	i := slices.Index(g.waiting, a)
	if i >= 0 {
		g.waiting = slices.Delete(slices.Clone(g.waiting), i, i+1)
	}
	g.mu.Unlock()
	select {
	case <-a.turn: // just now; another caller has to
		g.pass()
	default:
	}
	return i >= 0
}

// pass gives the turn to the first who waits.
func (g *Calls) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.atIt--
	g.next()
}

// next gives a turn that is free to the first that waits. A rallied call is taken by the caller that waits for it.
func (g *Calls) next() {
	if g.atIt >= g.places || g.rallying != nil {
		return
	}
	for _, next := range g.waiting {
		select {
		case <-next.turn: // has it from the other already
		default:
			close(next.turn)
			g.atIt++
			return
		}
	}
}

// take is the next calls to carry out together: those of one actor, in their
// order.
func (g *Calls) take() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.more(nil)
	g.next() // of those for whom there is no room
	return calls
}

// Joined is calls that are being carried out, and those that can still join them.
func (g *Calls) Joined(calls []*Call) []*Call {
	if !g.Late {
		return calls
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.more(calls)
}

// more adds to calls the first of those that wait, as far as they fit together.
func (g *Calls) more(calls []*Call) []*Call {
	together, jobs, bytes := calls, 0, 0
	for _, a := range calls {
		jobs += len(a.Jobs)
		bytes += a.bytes
	}
	for _, a := range g.waiting {
		jobs += len(a.Jobs)
		bytes += a.bytes
		if len(together) > 0 && (a.actor != together[0].actor || jobs > maxGathered || g.Most > 0 && bytes > g.Most) {
			break
		}
		together = append(together, a)
	}
	g.waiting = g.waiting[len(together)-len(calls):]
	return together
}

// Share gives each of some calls its part of what they were answered together. If they were refused, nothing was made, and
// alone asks for each by itself, beside each other. Any other fault is the answer to all: what was asked for may have
// happened, and must not be repeated.
func Share(together []*Call, out []job.Enqueued, err error, alone func(jobs []job.NewJob) ([]job.Enqueued, error)) {
	apart := len(together) > 1 && core.Refused(err)
	var each sync.WaitGroup
	defer each.Wait()
	for _, a := range together {
		switch {
		case apart:
			each.Go(func() { a.Answer(alone(a.Jobs)) })
		case err != nil:
			a.Answer(nil, err)
		default:
			n := len(a.Jobs)
			a.Answer(out[:n:n], nil)
			out = out[n:]
		}
	}
}
