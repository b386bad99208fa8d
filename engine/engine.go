// Package engine runs the loops of a node: it fires schedules that are due,
// makes delayed jobs ready, lets backfills go on, gives up lost sessions, and
// prunes what retention no longer keeps.
//
// Every node runs all loops and none leads. Each pass is one transition of the
// store that takes what is due and leaves alone what another node has locked,
// so a second engine does no harm and a dead one is not missed.
//
// Loops sleep until the next thing is due or something wakes them. They wait
// on the monotonic clock and look at the rows again every few seconds whatever
// happens, so a clock that is set forward or back is noticed, and a wake-up
// that was lost costs seconds and nothing else.
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

// Store is what an engine needs of the state. *store.Store has it.
type Store interface {
	FireDue(ctx context.Context) (job.Fired, error)
	Promote(ctx context.Context) (job.Promoted, error)
	ReleaseLost(ctx context.Context) (job.Released, error)
	Prune(ctx context.Context) (more bool, err error)
	Refill(ctx context.Context) (more bool, err error)
	// Woken returns a channel that is closed when something may be due sooner
	// than the last pass said.
	Woken() <-chan struct{}
}

// Clock is a store that notices when the clock that decides is set, and has to
// look for that.
type Clock interface {
	FollowClock(ctx context.Context) error
}

// Leftovers is a store that has the many jobs of a changed definition follow it in parts.
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

// ZonesEvery is how often the zones of a node are compared with those of others.
const ZonesEvery = 10 * time.Second

// Zones is a store that plans schedules anew when the data of a time zone
// changes, and has to look for that.
type Zones interface {
	FollowZones(ctx context.Context) error
}

func zonesPass(z Zones) pass {
	return func(ctx context.Context) (time.Duration, error) { return ZonesEvery, z.FollowZones(ctx) }
}

// Options says how an engine runs. Only Store is needed.
type Options struct {
	Store Store
	// Release is how often lost sessions and overdue jobs are looked for.
	// Default: 2s.
	Release time.Duration
	// Prune is how often retention is applied. Default: 10m.
	Prune time.Duration
	// Sender delivers notifications. Default: this node delivers
	// none.
	Sender Sender
	// Bytes is where artifacts lie. Without it this node collects none.
	Bytes Bytes
	// Collect is how often artifacts that nothing refers to are looked for.
	// Default: 1h.
	Collect time.Duration
	// PublicURL is where people reach the node, for links in messages. Default:
	// no links.
	PublicURL string
	// Logger gets faults that heal at warn. Default: discarded.
	Logger *slog.Logger
}

// Engine is the loops of a node.
type Engine struct {
	opt      Options
	stuck    stuck
	troubles troubles
}

// New makes an engine.
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

// Run runs the loops until ctx ends, and returns when all of them have.
func (e *Engine) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	var first, house turns
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
			sleep(ctx, keepHouse, nil)
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

// RunOnce fires what is due, makes ready what has come of age and begins cycles
// that are ready, until nothing is left, and answers the number of jobs. It does not
// wait for what they lead to when they end.
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
		var begun job.Promoted // counted when they were fired or asked for
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

// pass does what is due and says how long to rest.
type pass func(ctx context.Context) (rest time.Duration, err error)

const (
	// clockEvery is how often the clock is looked at.
	clockEvery = time.Second
	// longest is how long a loop sleeps without a look at the rows and the
	// wall clock.
	longest = 5 * time.Second
	// keepHouse is how long a node that starts puts off its housekeeping. The first statements of
	// retention and roll-ups would have the database read and plan thirty
	// statements while it is asked for the jobs that have waited for the node.
	keepHouse = 2 * time.Second
	// shortest keeps a loop from spinning when the timer of this machine runs
	// a little ahead of the clock that decides.
	shortest = 200 * time.Microsecond
)

// never is for loops that nothing wakes.
func never() <-chan struct{} { return nil }

// loop repeats a pass. An error rests it for a while that grows; nothing ends
// it but the context.
func (e *Engine) loop(ctx context.Context, name string, first turn, pass pass, wake func() <-chan struct{}) {
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

// enterWithin is how long a loop waits for those before it.
const enterWithin = 100 * time.Millisecond

// turns lets loops make their first pass one after the other, in the order in
// which they were started, as long as none takes long. All at once, each would
// open a connection of its own, and a node that starts with work to do had to
// wait while the database began eleven of them and planned on each what it does
// most: a tenth of a second, and a fifth of a second of the server's CPU.
type turns struct {
	last chan struct{} // closed when the last loop has made its pass; nil: there is none
}

// turn is the place of a loop.
type turn struct{ before, done chan struct{} }

// next is the turn after all that were given out.
func (t *turns) next() turn {
	n := turn{t.last, make(chan struct{})}
	t.last = n.done
	return n
}

// enter waits for the loop before it.
func (t turn) enter(ctx context.Context) (leave func()) {
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

// until is how long to sleep from now until next, as of a pass that began at
// begun on this machine's clock.
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
		e.opt.Logger.Warn("lost work released", "sessions", r.Sessions, "jobs", r.Jobs)
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

// Runner is an engine with the four verbs of a service, for programs that
// embed one.
type Runner struct {
	*lifecycle.Service
	engine *Engine
}

// NewRunner makes a runner. Start, Stop and IsRunning are those of the
// service; RunOnce needs no Start.
func NewRunner(o Options) (*Runner, error) {
	e, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Runner{lifecycle.New("schedule runner", e.Run), e}, nil
}

// RunOnce fires what is due, then returns the number of jobs made or made
// ready.
func (r *Runner) RunOnce(ctx context.Context) (int, error) { return r.engine.RunOnce(ctx) }
