// Package gather combines concurrent calls of Enqueue: into one transaction in a store, into one request in a client.
package gather

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

// Calls combines concurrent calls of Enqueue into batches. A caller that finds a free place carries out the waiting calls as one
// batch, its own call first. Calls that come meanwhile wait, and the caller of the first of them carries out the next batch. So
// a lone call is not delayed, and many calls cost little more than one.
type Calls struct {
	Most    int  // largest bytes of inputs in a batch; 0: no limit
	slots   int  // batches that may be carried out at the same time
	Late    bool // calls can still join a batch when its transaction begins
	Rallies bool // a batch waits for callers that have just been answered: see [Calls.rally]

	// Detached are the calls of a client: the end of a caller's context ends its wait, also for an answer. Each batch is carried
	// out by a goroutine of its own.
	Detached bool
	Beside   time.Duration // a second batch begins only so long after the one under way; 0: at once
	Patience time.Duration // how long a call waits for its batch to begin, before it ends with [Left]; 0: as long as its context

	mu      sync.Mutex
	running int       // batches being carried out
	begun   time.Time // when the last of them began
	waiting []*Call

	answered int           // calls in the last batch
	took     time.Duration // duration of the last batch
	rallying chan struct{} // closed when as many calls wait as the last batch had; nil: no batch waits for calls
}

// New returns the calls of a store or client; far is set for a database or server across a network. Across a network, two
// batches are under way at the same time: one travels while the other waits for the disk. In this process there is one writer,
// so two batches would only share the same calls. The transaction of a batch may have to wait for the writer; calls that come
// meanwhile can still join when it begins.
func New(far bool) Calls {
	if far {
		return Calls{slots: 2}
	}
	return Calls{slots: 1, Late: true}
}

// Call is one call.
type Call struct {
	actor string
	Jobs  []job.NewJob
	bytes int // of the inputs of Jobs
	out   []job.Enqueued
	err   error
	done  chan struct{}
	lead  chan struct{} // closed when the caller of this call has to carry out the next batch
}

// NewCall returns a call that has not begun.
func NewCall(actor string, jobs []job.NewJob) *Call {
	a := &Call{actor: actor, Jobs: jobs, done: make(chan struct{}), lead: make(chan struct{})}
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

// Wait waits for the answer of a call.
func (a *Call) Wait() ([]job.Enqueued, error) {
	<-a.done
	return a.out, a.err
}

// Left is the error of a call whose context ended before the call began.
type Left struct{ Err error }

func (l Left) Error() string { return l.Err.Error() }
func (l Left) Unwrap() error { return l.Err }

const maxGathered = core.MaxBatch // jobs in a batch

// errPatience is the error of a call that waited longer than [Calls.Patience].
var errPatience = errors.New("the batches before it take too long")

// Do carries out a call: in a batch of its own caller, or in the batch of another caller. If ctx ends before the call has begun,
// the call ends with [Left].
func (g *Calls) Do(ctx context.Context, actor string, jobs []job.NewJob, together func(ctx context.Context, calls []*Call)) ([]job.Enqueued, error) {
	a := NewCall(actor, jobs)
	if !g.join(a) {
		begun, left := g.awaitTurn(ctx, a)
		if left != nil {
			return nil, Left{left}
		}
		if begun {
			return g.answer(ctx, a)
		}
	}
	if g.Detached {
		go g.carryOut(ctx, a, together)
	} else {
		g.carryOut(ctx, a, together)
	}
	return g.answer(ctx, a)
}

// awaitTurn waits until a call has begun in the batch of another caller (begun), or has to lead the next batch. If the wait
// ends before, it returns why.
func (g *Calls) awaitTurn(ctx context.Context, a *Call) (begun bool, left error) {
	var late <-chan time.Time
	if g.Patience > 0 {
		timer := time.NewTimer(g.Patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-a.done:
		g.leave(a) // passes on the turn, which the call may have got just before
		return true, nil
	case <-a.lead:
		return false, nil
	case <-ctx.Done():
		left = ctx.Err()
	case <-late:
		left = errPatience
	}
	if g.leave(a) {
		return false, left
	}
	return true, nil // its answer says whether the jobs were made
}

// answer waits for the answer of a call that has begun.
func (g *Calls) answer(ctx context.Context, a *Call) ([]job.Enqueued, error) {
	if !g.Detached {
		return a.Wait()
	}
	select {
	case <-a.done:
		return a.out, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// carryOut carries out the next batch, which the caller of a leads.
func (g *Calls) carryOut(ctx context.Context, a *Call, together func(ctx context.Context, calls []*Call)) {
	g.rally(ctx)
	if calls := g.take(); len(calls) > 0 {
		if g.Beside > 0 {
			time.AfterFunc(g.Beside, g.offer) // not stopped: this batch may end while the one before it goes on
		}
		if len(calls) > 1 || calls[0] != a { // the end of this caller's context must not end the calls of others
			ctx = context.WithoutCancel(ctx)
		}
		begun := time.Now()
		together(ctx, calls)
		g.noteAnswered(len(calls), time.Since(begun))
	}
	g.pass()
}

// join adds a call, and reports whether its caller has to carry out a batch at once.
func (g *Calls) join(a *Call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.free() {
		g.waiting = append(g.waiting, a)
		g.rung()
		return false
	}
	g.begin()
	g.waiting = append([]*Call{a}, g.waiting...)
	return true
}

// The longest wait for other callers: 1/rallyShare of the duration of the last batch, and at most rallyMost.
const (
	rallyShare = 8
	rallyMost  = 5 * time.Millisecond
)

// rally waits until as many calls wait as the last batch had, or for a small part of the duration of that batch. Callers that
// enqueue one job after the other call again at once. Without rally, the first of them would be a batch alone, and the others
// would wait for its answer. A lone caller does not wait.
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

// rung ends a rally if enough calls wait.
func (g *Calls) rung() {
	if g.rallying == nil || len(g.waiting) < g.answered {
		return
	}
	select {
	case <-g.rallying: // already closed
	default:
		close(g.rallying)
	}
}

func (g *Calls) noteAnswered(calls int, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered, g.took = calls, took
}

// leave removes a call that has not begun, and passes on its turn. It reports whether the call had not begun.
func (g *Calls) leave(a *Call) bool {
	g.mu.Lock()
	i := slices.Index(g.waiting, a)
	if i >= 0 {
		g.waiting = slices.Delete(slices.Clone(g.waiting), i, i+1)
	}
	g.mu.Unlock()
	select {
	case <-a.lead: // the call was to lead the next batch; another caller has to
		g.pass()
	default:
	}
	return i >= 0
}

// pass ends a batch, and gives its place to the first waiting call.
func (g *Calls) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.next()
}

// free reports whether a batch may begin. During a rally none may: the caller that rallies takes the calls.
func (g *Calls) free() bool {
	switch {
	case g.rallying != nil || g.running >= g.slots:
		return false
	case g.running == 0 || g.Beside == 0:
		return true
	}
	return time.Since(g.begun) >= g.Beside
}

// begin takes a free place. The batch counts as begun although its caller has not taken the calls yet: another call that comes
// in between belongs to it.
func (g *Calls) begin() {
	g.running++
	g.begun = time.Now()
}

// next gives a free place to the first waiting call.
func (g *Calls) next() {
	if !g.free() {
		return
	}
	for _, next := range g.waiting {
		select {
		case <-next.lead: // this call leads the next batch already
		default:
			close(next.lead)
			g.begin()
			return
		}
	}
}

// offer gives a place that is free by now to the first waiting call.
func (g *Calls) offer() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next()
}

// take returns the next batch: calls of one actor, in their order.
func (g *Calls) take() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.more(nil)
	g.begun = time.Now()
	g.next() // of the calls that did not fit
	return calls
}

// Joined returns the calls of a batch, with the waiting calls that can still join it.
func (g *Calls) Joined(calls []*Call) []*Call {
	if !g.Late {
		return calls
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.more(calls)
}

// more adds the first waiting calls to a batch, as far as they fit.
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

// Share gives each call of a batch its part of the answer. If the batch was refused, no job was made, and alone enqueues each
// call separately, concurrently. Any other error is the answer to all calls: the jobs may have been made, so the calls must not
// be repeated.
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
