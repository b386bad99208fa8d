//go:build linux

package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// Tuning is what a worker is set to. The zero value is the default.
type Tuning struct {
	Slots    int // jobs at the same time; 0: as the queue says
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

// embed starts one on an open store.
func embed(ctx context.Context, st *store.Store, t Tuning, h *worker.Handlers, o worker.Observer) (*embedded, error) {
	e, err := engine.New(engine.Options{Store: st})
	if err != nil {
		return nil, err
	}
	w, err := worker.New(worker.Options{Broker: st, Handlers: h, Observer: o, Prefetch: t.Prefetch, Queues: map[string]int{"default": t.Slots}})
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

// beside opens the database as another node does that has no workers, for as long as fn runs.
func (s *Site) beside(ctx context.Context, fn func(st *store.Store) error) error {
	return s.With(ctx, store.Options{}, func(st *store.Store) error {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- st.Run(ctx) }()
		err := fn(st)
		cancel()
		return errors.Join(err, <-ended)
	})
}

// stop ends it and says what went wrong in it.
func (n *embedded) stop() error {
	n.cancel()
	n.loops.Wait()
	return n.err
}

// tally counts the results that the store has committed.
type tally struct {
	worker.NoObserver
	n    atomic.Int64
	more chan struct{} // has something when there are more, for one who waits
}

func newTally() *tally { return &tally{more: make(chan struct{}, 1)} }

// Reported implements [worker.Observer].
func (t *tally) Reported(results, stale int, _ time.Duration, err error) {
	if err != nil {
		return
	}
	t.n.Add(int64(results - stale))
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// await waits until the node has ended so many jobs.
func (n *embedded) await(ctx context.Context, t *tally, jobs int64) error {
	for t.n.Load() < jobs {
		select {
		case <-t.more:
		case <-n.ended:
			return errors.New("a loop of the node has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// nothing is the handler of [task].
func nothing(h *worker.Handlers) {
	worker.Handle(h, noop, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
}
