package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
	"github.com/belfry-run/belfry/worker"
)

// node is a machine. It has one life after another.
type node struct {
	world *world
	name  string

	mu    sync.Mutex
	life  *life // nil: the node is down
	lives int
	woes  []woe
}

// woe is a trouble of a node that lasts until an instant.
type woe struct {
	until time.Duration
	trouble
}

// trouble is the faults between a node and its database.
type trouble struct {
	cut   bool // no call gets through
	lossy bool // requests and answers are lost, and some requests come twice
	slow  bool // calls take seconds
	full  bool // writes fail at a statement
}

// trouble returns the current faults of a node.
func (n *node) trouble(w *world) (f trouble) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.woes {
		if w.since() < x.until {
			f.cut, f.lossy, f.slow, f.full = f.cut || x.cut, f.lossy || x.lossy, f.slow || x.slow, f.full || x.full
		}
	}
	return f
}

func (n *node) suffer(x woe) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.woes = append(n.woes, x)
}

func (n *node) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.woes = nil
}

func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// life is a process: a store, an engine and a worker.
type life struct {
	ears
	node  *node
	store *store.Store
	stop  context.CancelFunc
	dead  chan struct{}
	once  sync.Once

	doomed sync.Mutex
	fate   fate
}

// fate is the point at which a process will crash.
type fate int

const (
	livesOn fate = iota
	beforeCommit
	afterCommit // and before the answer
)

// doom reports whether a process crashes at this point.
func (l *life) doom(at fate) bool {
	l.doomed.Lock()
	defer l.doomed.Unlock()
	if l.fate != at {
		return false
	}
	l.fate = livesOn
	return true
}

func (l *life) ended() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// kill ends a process abruptly: its calls fail from now on, and its handlers are cut off.
func (l *life) kill() {
	l.once.Do(func() {
		l.node.mu.Lock()
		l.node.life = nil
		l.node.mu.Unlock()
		l.node.world.cutStints(l.node)
		close(l.dead)
		l.stop()
	})
}

// start starts a process on the node, unless one runs.
func (n *node) start() {
	w := n.world
	if n.current() != nil || w.over.Load() {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &life{node: n, stop: stop, dead: make(chan struct{})}
	l.store = store.New(&nodeDB{DB: w.file.DB(), life: l}, store.Options{Clock: w.now, Monotonic: w.monotonic, Poll: 20 * time.Second, PackFrom: 5})
	n.mu.Lock()
	n.lives++
	n.life = l
	name := fmt.Sprintf("%s.%d", n.name, n.lives)
	n.mu.Unlock()
	w.trace("%s starts", name)
	o := engine.Options{Store: newMover(l, w.script), Release: 5 * time.Second}
	if w.script.hooks {
		o.Sender = poster{l}
	}
	e, err := engine.New(o)
	if err != nil {
		panic(err)
	}
	k, err := worker.New(worker.Options{
		Leaser: &leaser{life: l}, Name: n.name, Queues: w.slots(),
		Executors: map[task.Kind]worker.Executor{task.KindFunc: &hand{l}}, Poll: 5 * time.Second, Grace: 2 * time.Second, Patience: 5 * time.Second, Linger: 5 * time.Second,
		Prefetch: w.script.prefetch,
	})
	if err != nil {
		panic(err)
	}
	var loops sync.WaitGroup
	for _, run := range []func(context.Context) error{l.store.Run, e.Run} {
		loops.Go(func() { _ = run(ctx) })
	}
	loops.Go(func() {
		for i := 0; ctx.Err() == nil; i++ { // a worker whose first session is refused ends, and a process manager restarts it
			_ = k.Run(ctx)
			_ = sleep(ctx, l.dead, time.Second)
		}
	})
	w.spawn(func() {
		loops.Wait()
		_ = l.store.Close()
	})
}

// end stops a node gracefully and waits.
func (n *node) end() {
	if l := n.current(); l != nil {
		l.stop()
	}
}

// mover is the store for an engine. Each call has a label for the gate.
type mover struct{ *life }

type followingMover struct{ mover }

// starter is the part of the store for workflows.
type starter struct{ *life }

func newMover(l *life, s script) engine.Store {
	m := mover{l}
	switch {
	case s.clock && s.workflows:
		return struct {
			followingMover
			starter
		}{followingMover{m}, starter{l}}
	case s.clock:
		return followingMover{m}
	case s.workflows:
		return struct {
			mover
			starter
		}{m, starter{l}}
	}
	return m
}

func (m starter) StartWorkflows(ctx context.Context) (job.Promoted, error) {
	return m.store.StartWorkflows(label(ctx, "workflows"))
}

func (m starter) WakeWorkflows(ctx context.Context) (job.Promoted, error) {
	return m.store.WakeWorkflows(label(ctx, "wake workflows"))
}

func (m mover) FireDue(ctx context.Context) (job.Fired, error) {
	return m.store.FireDue(label(ctx, "fire"))
}

func (m mover) Promote(ctx context.Context) (job.Promoted, error) {
	return m.store.Promote(label(ctx, "promote"))
}

func (m mover) ReleaseLost(ctx context.Context) (job.Released, error) {
	return m.store.ReleaseLost(label(ctx, "release"))
}

func (m mover) Prune(ctx context.Context) (bool, error)  { return m.store.Prune(label(ctx, "prune")) }
func (m mover) Refill(ctx context.Context) (bool, error) { return m.store.Refill(label(ctx, "refill")) }
func (m mover) Woken() <-chan struct{}                   { return m.store.Woken() }

func (m mover) TakeEvents(ctx context.Context, hooks int) (view.TakenAlerts, error) {
	return m.store.TakeEvents(label(ctx, "take events"), hooks)
}

func (m mover) SettleEvents(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return m.store.SettleEvents(label(ctx, fmt.Sprintf("settle %s %s", t.Channel.Name, t.Message.Key)), t, r)
}

func (m mover) WokenHooks() <-chan struct{} { return m.store.WokenHooks() }

func (m mover) StartCycles(ctx context.Context) (job.Promoted, error) {
	return m.store.StartCycles(label(ctx, "cycles"))
}

func (m mover) EndLateCycles(ctx context.Context) (job.Promoted, error) {
	return m.store.EndLateCycles(label(ctx, "late cycles"))
}

// AgeJobs calls the store only in worlds with a queue with ageing.
func (m mover) AgeJobs(ctx context.Context) (time.Duration, error) {
	if !m.node.world.script.ageing {
		return time.Hour, nil
	}
	return m.store.AgeJobs(label(ctx, "age"))
}

func (m followingMover) FollowClock(ctx context.Context) error {
	return m.store.FollowClock(label(ctx, "clock"))
}

// leaser is the store for a worker, over a network that may deliver a request twice.
type leaser struct{ *life }

func (b *leaser) OpenSession(ctx context.Context, i job.WorkerInfo) (job.Session, error) {
	i.Funcs = b.node.world.funcs()
	s, err := b.store.OpenSession(label(ctx, "open"), i)
	if err == nil {
		b.node.world.trace("%s opens %s", b.node.name, b.node.world.sessionName(s.ID))
	}
	return s, err
}

func (b *leaser) Claim(ctx context.Context, c job.ClaimRequest) (job.Claim, error) {
	what := "claim"
	for q := range c.Want {
		what += " " + q
	}
	b.again(what, func(ctx context.Context, st *store.Store) {
		c.Wait = 0
		_, _ = st.Claim(ctx, c) // the answer is lost
	})
	return b.store.Claim(label(ctx, what), c)
}

func (b *leaser) Renew(ctx context.Context, session string, has job.Holdings) (job.Renewal, error) {
	has.Attempts = sortHeld(has.Attempts)
	b.again("renew", func(ctx context.Context, st *store.Store) { _, _ = st.Renew(ctx, session, has) })
	return b.store.Renew(label(ctx, "renew"), session, has)
}

func (b *leaser) Finish(ctx context.Context, session string, fs []job.Finish) ([]job.Finished, error) {
	copied := append([]job.Finish(nil), fs...)
	b.again("finish", func(ctx context.Context, st *store.Store) { _, _ = st.Finish(ctx, session, copied) })
	done, err := b.store.Finish(label(ctx, fmt.Sprintf("finish %d.%d", fs[0].JobID, fs[0].Lease)), session, fs)
	b.node.world.finished(done)
	b.node.world.followed(fs, done)
	return done, err
}

func (b *leaser) Append(ctx context.Context, session string, ls []job.LogPiece) error {
	return b.store.Append(label(ctx, "append"), session, ls)
}

func (b *leaser) CloseSession(ctx context.Context, session string) error {
	return b.store.CloseSession(label(ctx, "close"), session)
}

func (b *leaser) Nudged(session string) <-chan struct{} { return b.store.Nudged(session) }

// again delivers a request a second time if the network does so: late, to any node that is up then, and even if its sender
// has ended.
func (b *leaser) again(what string, call func(ctx context.Context, st *store.Store)) {
	w := b.node.world
	if !b.node.trouble(w).lossy || !w.chance(6, "double "+b.node.name+" "+what) {
		return
	}
	name := b.node.name
	w.under.Add(1)
	w.spawn(func() {
		defer w.under.Add(-1)
		after := time.Duration(w.draw("doubled "+name+" "+what) % uint64(longestDelay))
		time.Sleep(after)
		if l := w.someone(int(after)); l != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			call(label(ctx, fmt.Sprintf("%s %s again %d", name, what, after)), l.store)
		}
	})
}

// longestDelay is the longest delay of a repeated request: far beyond [job.ClaimSettled] and the end of a session.
const longestDelay = 2 * time.Minute

// someone returns the first node from an index on that is up.
func (w *world) someone(from int) *life {
	for k := range w.nodes {
		if l := w.nodes[(from+k)%len(w.nodes)].current(); l != nil {
			return l
		}
	}
	return nil
}
