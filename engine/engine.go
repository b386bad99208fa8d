// Package engine runs the loops of a node. They fire due schedules, make
// delayed jobs ready, continue backfills, release lost sessions and prune rows
// past their retention.
//
// Every node runs all loops; there is no leader. Each pass is one transition of
// the store. It takes the due rows and skips rows that another node has locked,
// so a second engine does no harm and a dead one is not missed.
//
// A loop sleeps until the next row is due or the store wakes it. It waits on the
// monotonic clock and reads the rows again at least every few seconds. So it
// notices a clock that is set forward or back, and a lost wake-up costs only
// seconds.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/lifecycle"
	"github.com/belfry-run/belfry/job"
)

// Store is the part of a store that every engine needs. *store.Store implements it.
type Store interface {
	FireDue(ctx context.Context) (job.Fired, error)
	Promote(ctx context.Context) (job.Promoted, error)
	ReleaseLost(ctx context.Context) (job.Released, error)
	Prune(ctx context.Context) (more bool, err error)
	Refill(ctx context.Context) (more bool, err error)
	// Woken returns a channel that is closed when a row may be due sooner than
	// the last pass reported.
	Woken() <-chan struct{}
}

// Clock is a store that follows steps of its reference clock. The engine calls
// FollowClock every second, because a step sends no event.
type Clock interface {
	FollowClock(ctx context.Context) error
}

// Leftovers is a store that updates the jobs of a changed definition in parts, because they can be many.
type Leftovers interface {
	FollowLeft(ctx context.Context) (more bool, err error)
}

func (e *Engine) withdraw(l Leftovers) pass {
	return func(ctx context.Context) (time.Duration, error) {
		more, err := l.FollowLeft(ctx)
		if more {
			return 50 * time.Millisecond, err
		}
		return e.opt.Release, err
	}
}

// ZonesEvery is the interval at which a node compares its time zone data with that of other nodes.
const ZonesEvery = 10 * time.Second

// Zones is a store that plans schedules anew when the data of a time zone
// changes. The engine calls FollowZones every [ZonesEvery].
type Zones interface {
	FollowZones(ctx context.Context) error
}

func zonesPass(z Zones) pass {
	return func(ctx context.Context) (time.Duration, error) { return ZonesEvery, z.FollowZones(ctx) }
}

// Options configures an engine. Only Store is required.
type Options struct {
	Store Store
	// Release is the interval between searches for lost sessions and overdue
	// jobs. Default: 2s.
	Release time.Duration
	// Prune is the interval at which retention is applied. Default: 10m.
	Prune time.Duration
	// Sender delivers notifications. Default: this node delivers none.
	Sender Sender
	// Bytes is the storage of artifacts. Default: this node collects none.
	Bytes Bytes
	// Collect is the interval between searches for unreferenced artifacts.
	// Default: 1h.
	Collect time.Duration
	// PublicURL is the address of the console, for links in messages. Default:
	// no links.
	PublicURL string
	// Logger receives temporary faults at level warn. Default: no log.
	Logger *slog.Logger
}

// Engine runs the loops of a node.
type Engine struct {
	opt      Options
	stuck    stuck
	troubles troubles
}

// New returns an engine. It fails if o.Store is nil.
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, core.Errorf(core.Invalid, "an engine needs a store")
	}
	if o.Release == 0 {
		o.Release = 2 * time.Second
	}
	if o.Prune == 0 {
		o.Prune = 10 * time.Minute
	}
	if o.Collect == 0 {
		o.Collect = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{opt: o, troubles: troubles{log: o.Logger}}, nil
}

// Run runs the loops until ctx ends, and returns after all loops have ended.
// The error is always nil: failed passes are logged and tried again.
func (e *Engine) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	var first, house firstPasses
	start := func(name string, pass pass, wake func() <-chan struct{}) {
		turn := first.next()
		loops.Go(func() { e.loop(ctx, name, turn, pass, wake) })
	}
	start("fire", e.fire, e.opt.Store.Woken)
	start("promote", e.promote, e.opt.Store.Woken)
	start("backfill", e.backfill, e.opt.Store.Woken)
	start("release", e.release, never)
	later := func(name string, pass pass) {
		turn := house.next()
		loops.Go(func() {
			sleep(ctx, housekeepingDelay, nil)
			e.loop(ctx, name, turn, pass, never)
		})
	}
	later("prune", e.prune)
	if c, ok := e.opt.Store.(Clock); ok {
		start("clock", func(ctx context.Context) (time.Duration, error) { return clockEvery, c.FollowClock(ctx) }, never)
	}
	if z, ok := e.opt.Store.(Zones); ok {
		start("zones", zonesPass(z), never)
	}
	if l, ok := e.opt.Store.(Leftovers); ok {
		start("withdraw", e.withdraw(l), never)
	}
	if a, ok := e.opt.Store.(Ageing); ok {
		start("age", a.AgeJobs, never)
	}
	if m, ok := e.opt.Store.(Monitors); ok {
		start("lapse", e.lapse(m), e.opt.Store.Woken)
		later("roll up", e.rollUp(m))
	}
	if s, ok := e.opt.Store.(Samples); ok {
		later("sample queues", e.sample(s))
	}
	if c, ok := e.opt.Store.(Cycles); ok {
		start("cycles", e.cycles(c), e.opt.Store.Woken)
	}
	if w, ok := e.opt.Store.(Workflows); ok {
		start("workflows", e.workflows(w), e.opt.Store.Woken)
	}
	if a, ok := e.opt.Store.(Artifacts); ok {
		later("collect", e.collect(a))
	}
	if box, ok := e.opt.Store.(Outbox); ok && e.opt.Sender != nil {
		tell, wait := e.deliver(box)
		turn := first.next()
		loops.Go(func() {
			e.loop(ctx, "deliver", turn, tell, e.opt.Store.Woken)
			wait()
		})
	}
	if h, ok := e.opt.Store.(Hooks); ok && e.opt.Sender != nil {
		tell, wait := e.deliver(hookBox{h})
		turn := first.next()
		loops.Go(func() {
			e.loop(ctx, "deliver events", turn, tell, h.WokenHooks)
			wait()
		})
	}
	loops.Wait()
	return nil
}

// RunOnce fires due schedules, makes delayed jobs ready and starts ready cycles
// and workflows, until none is left. It returns the number of jobs that it
// created or made ready. It does not wait for jobs that follow when these end.
func (e *Engine) RunOnce(ctx context.Context) (jobs int, err error) {
	for {
		p, err := e.opt.Store.Promote(ctx)
		if err != nil {
			return jobs, err
		}
		f, err := e.opt.Store.FireDue(ctx)
		if err != nil {
			return jobs, err
		}
		var begun job.Promoted // already counted when they were fired or enqueued
		if c, ok := e.opt.Store.(Cycles); ok {
			if begun, err = c.StartCycles(ctx); err != nil {
				return jobs, err
			}
		}
		if w, ok := e.opt.Store.(Workflows); ok {
			started, err := w.StartWorkflows(ctx)
			if err != nil {
				return jobs, err
			}
			begun.Jobs += started.Jobs
		}
		jobs += p.Jobs + f.Jobs
		if p.Jobs == 0 && f.Schedules == 0 && begun.Jobs == 0 {
			return jobs, nil
		}
	}
}

// pass does the due work of a loop and returns how long the loop rests.
type pass func(ctx context.Context) (rest time.Duration, err error)

const (
	// clockEvery is the interval between checks of the reference clock.
	clockEvery = time.Second
	// longest is the longest sleep of a loop before it reads the rows and the
	// wall clock again.
	longest = 5 * time.Second
	// housekeepingDelay is the delay of housekeeping after the start of a node. Without it, the
	// database would plan thirty statements of retention and roll-ups while workers
	// claim the jobs that waited for the node.
	housekeepingDelay = 2 * time.Second
	// shortest keeps a loop from spinning when the timer of this machine runs
	// slightly ahead of the reference clock.
	shortest = 200 * time.Microsecond
)

// never is the wake function of loops that only time wakes.
func never() <-chan struct{} { return nil }

// loop repeats a pass until the context ends. After errors it rests for 0.5s
// times their number, at most [longest].
func (e *Engine) loop(ctx context.Context, name string, first firstPass, pass pass, wake func() <-chan struct{}) {
	failures := 0
	leave := first.enter(ctx)
	for ctx.Err() == nil {
		woken := wake()
		rest, err := pass(ctx)
		leave()
		if err != nil && !errors.Is(err, context.Canceled) {
			failures++
			rest = min(time.Duration(failures)*500*time.Millisecond, longest)
			woken = nil
			e.troubles.failed(ctx, name, failures, rest, err)
		} else if err == nil {
			failures = 0
			e.troubles.works(name)
		}
		sleep(ctx, rest, woken)
	}
}

// enterWithin is the longest wait of a loop for the first pass of the loop before it.
const enterWithin = 100 * time.Millisecond

// firstPasses lets loops make their first pass one after the other, in the order of
// their start; a slow loop holds up the next for [enterWithin] only. If all ran
// at once, each would open its own connection. The database would begin eleven
// connections and plan the most frequent statements on each. That delayed the
// first jobs by 0.1s and took 0.2s of the server's CPU.
type firstPasses struct {
	last chan struct{} // closed after the first pass of the loop that started last; nil before the first loop
}

// firstPass is the place of a loop in the order of first passes.
type firstPass struct{ before, done chan struct{} }

// next returns the turn after all earlier ones.
func (t *firstPasses) next() firstPass {
	n := firstPass{t.last, make(chan struct{})}
	t.last = n.done
	return n
}

// enter waits for the first pass of the loop before, and returns a function that admits the next loop.
func (t firstPass) enter(ctx context.Context) (leave func()) {
	leave = sync.OnceFunc(func() { close(t.done) })
	if t.before == nil {
		return leave
	}
	patience := time.NewTimer(enterWithin)
	defer patience.Stop()
	select {
	case <-t.before:
	case <-patience.C:
	case <-ctx.Done():
	}
	return leave
}

func sleep(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-woken:
	}
}

// until returns how long a loop sleeps until next. now is the time of the
// reference clock in a pass that began at begun on this machine's clock.
func until(next, now, begun time.Time) time.Duration {
	if next.IsZero() {
		return longest
	}
	return min(max(next.Sub(now)-time.Since(begun), shortest), longest)
}

func (e *Engine) fire(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	f, err := e.opt.Store.FireDue(ctx)
	return until(f.NextAt, f.Now, begun), err
}

func (e *Engine) promote(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	p, err := e.opt.Store.Promote(ctx)
	return until(p.NextAt, p.Now, begun), err
}

func (e *Engine) backfill(ctx context.Context) (time.Duration, error) {
	more, err := e.opt.Store.Refill(ctx)
	if more {
		return shortest, err
	}
	return longest, err
}

func (e *Engine) release(ctx context.Context) (time.Duration, error) {
	r, err := e.opt.Store.ReleaseLost(ctx)
	if err == nil && (r.Sessions > 0 || r.Jobs > 0) {
		e.opt.Logger.Warn("jobs of lost sessions released", "sessions", r.Sessions, "jobs", r.Jobs)
	}
	if r.More {
		return 0, err
	}
	return e.opt.Release, err
}

func (e *Engine) prune(ctx context.Context) (time.Duration, error) {
	more, err := e.opt.Store.Prune(ctx)
	if more {
		return 50 * time.Millisecond, err
	}
	return e.opt.Prune, err
}

// Runner is an engine with Start, Stop, IsRunning and RunOnce, for programs that
// embed an engine.
type Runner struct {
	*lifecycle.Service
	engine *Engine
}

// NewRunner returns a runner. It fails if o.Store is nil. RunOnce needs no Start.
func NewRunner(o Options) (*Runner, error) {
	e, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Runner{lifecycle.New("schedule runner", e.Run), e}, nil
}

// RunOnce fires due schedules once and returns the number of jobs created or
// made ready: see [Engine.RunOnce].
func (r *Runner) RunOnce(ctx context.Context) (int, error) { return r.engine.RunOnce(ctx) }
