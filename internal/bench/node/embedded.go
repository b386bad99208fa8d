//go:build linux

package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Tuning has the settings of a worker. The zero value is the default.
type Tuning struct {
	Slots    int // jobs at the same time; 0: the slots of the queue
	Prefetch int
}

// embedded is a node inside this process: engine, worker and wake-ups.
type embedded struct {
	cancel context.CancelFunc
	loops  sync.WaitGroup
	mu     sync.Mutex
	err    error
	ended  chan struct{} // closed when a loop ended by itself
}

// Embed starts a node on an open store.
func Embed(ctx context.Context, st *store.Store, t Tuning, h *worker.Handlers, o worker.Observer) (*embedded, error) {
	e, err := engine.New(engine.Options{Store: st})
	if err != nil {
		return nil, err
	}
	w, err := worker.New(worker.Options{Leaser: st, Handlers: h, Observer: o, Prefetch: t.Prefetch, Queues: map[string]int{"default": t.Slots}})
	if err != nil {
		return nil, err
	}
	n := &embedded{ended: make(chan struct{})}
	ctx, n.cancel = context.WithCancel(ctx)
	var once sync.Once
	for _, loop := range []func(context.Context) error{st.Run, e.Run, w.Run} {
		n.loops.Go(func() {
			err := loop(ctx)
			n.mu.Lock()
			n.err = errors.Join(n.err, err)
			n.mu.Unlock()
			if ctx.Err() == nil {
				once.Do(func() { close(n.ended) })
			}
		})
	}
	return n, nil
}

// Beside opens the database as another node without workers, for the duration of fn.
func Beside(ctx context.Context, s *database.Site, fn func(st *store.Store) error) error {
	return s.With(ctx, store.Options{}, func(st *store.Store) error {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- st.Run(ctx) }()
		err := fn(st)
		cancel()
		return errors.Join(err, <-ended)
	})
}

// Stop ends the node and returns its errors.
func (n *embedded) Stop() error {
	n.cancel()
	n.loops.Wait()
	return n.err
}

// Tally counts the results that the store has committed.
type Tally struct {
	worker.NoObserver
	N    atomic.Int64
	More chan struct{} // has a value when the count has grown, for one waiter
}

// NewTally makes a tally that starts at zero.
func NewTally() *Tally { return &Tally{More: make(chan struct{}, 1)} }

// Reported implements [worker.Observer].
func (t *Tally) Reported(results, stale int, _ time.Duration, err error) {
	if err != nil {
		return
	}
	t.N.Add(int64(results - stale))
	select {
	case t.More <- struct{}{}:
	default:
	}
}

// Await waits until the node has completed so many jobs.
func (n *embedded) Await(ctx context.Context, t *Tally, jobs int64) error {
	for t.N.Load() < jobs {
		select {
		case <-t.More:
		case <-n.ended:
			return errors.New("a loop of the node has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Nothing is the handler of [database.Noop].
func Nothing(h *worker.Handlers) {
	worker.Handle(h, database.Noop, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
}
