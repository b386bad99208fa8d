//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/belfry-run/belfry/bench/load"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/store/postgres"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// belfrySettings has the settings that differ between the defaults and a Belfry tuned
// for many tiny jobs.
var belfrySettings = map[base]struct {
	words string
	slots int // of the queue on this worker; 0: its default
	conns int // of each pool on PostgreSQL; 0: its default
}{
	belfryDefault: {words: "default settings"},
	belfryTuned:   {words: "4 slots, 40 connections", slots: 4, conns: 40},
}

const belfryHistory = "kept for 30 days, as by default"

func belfryName(b base) string {
	if b == belfryTuned {
		return "**Belfry** tuned"
	}
	return "**Belfry** default"
}

func belfryOnPostgres(b base) contender {
	return contender{
		name: belfryName(b) + ", PostgreSQL", class: servers, base: b, settings: belfrySettings[b].words, history: belfryHistory,
		open: func(ctx context.Context, s *site) (*seat, error) {
			return s.onPostgres(ctx, func(url string) (load.Driver, error) {
				q := &belfryQueue{base: b}
				open := func() (*store.Store, error) {
					return postgres.Open(ctx, url, postgres.Options{MaxConns: belfrySettings[b].conns})
				}
				var err error
				if q.worker, err = open(); err != nil {
					return nil, err
				}
				// A store of its own, as in another process: wake-ups pass through the database.
				if q.caller, err = open(); err != nil {
					return nil, errors.Join(err, q.worker.Close())
				}
				q.run(q.caller.Run)
				return load.NewLocal(q), nil
			})
		},
	}
}

func belfryOnSQLite(c class, b base) contender {
	return contender{
		name: belfryName(b) + ", " + c.synchronous(), class: c, base: b, settings: belfrySettings[b].words, history: belfryHistory,
		open: func(ctx context.Context, s *site) (*seat, error) {
			return s.onFile(func(dir string) (load.Driver, error) {
				st, err := sqlite.Open(ctx, filepath.Join(dir, "belfry.db"), sqlite.Options{Synchronous: c.synchronous()})
				if err != nil {
					return nil, err
				}
				return load.NewLocal(&belfryQueue{base: b, caller: st, worker: st}), nil
			})
		},
	}
}

// belfryQueue is Belfry: a store, the engine's loops, and a worker.
type belfryQueue struct {
	base           base
	caller, worker *store.Store // the same store on SQLite
	loops          loops
}

// loops has goroutines that end together.
type loops struct {
	stops []context.CancelFunc
	all   sync.WaitGroup
}

func (l *loops) start(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	l.stops = append(l.stops, cancel)
	l.all.Go(func() { _ = run(ctx) })
}

func (l *loops) stop() {
	for _, stop := range l.stops {
		stop()
	}
	l.all.Wait()
}

func (q *belfryQueue) run(fn func(context.Context) error) { q.loops.start(fn) }

func (q *belfryQueue) Enqueue(ctx context.Context, job int64) error {
	return q.EnqueueMany(ctx, []int64{job})
}

// EnqueueMany uses the only call for enqueues, which is for one job and for many.
func (q *belfryQueue) EnqueueMany(ctx context.Context, jobs []int64) error {
	list := make([]job.NewJob, len(jobs))
	for i, j := range jobs {
		list[i] = job.NewJob{Task: "noop", Kind: task.KindFunc, Input: strconv.AppendInt(nil, j, 10)}
	}
	_, err := q.caller.Enqueue(ctx, list)
	return err
}

func (q *belfryQueue) Work(_ context.Context, ran func(int64)) (func() error, error) {
	var handlers worker.Handlers
	worker.Handle(&handlers, "noop", func(_ context.Context, job int64) (struct{}, error) {
		ran(job)
		return struct{}{}, nil
	})
	set := belfrySettings[q.base]
	w, err := worker.New(worker.Options{
		Leaser: q.worker, Handlers: &handlers,
		Queues: map[string]int{task.DefaultQueue: set.slots},
	})
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Options{Store: q.worker})
	if err != nil {
		return nil, err
	}
	var node loops
	node.start(q.worker.Run)
	node.start(e.Run)
	var failed error
	working, drain := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failed = w.Run(working)
	}()
	return func() error {
		drain()
		<-ended
		node.stop()
		return failed
	}, nil
}

// Unsettled uses the ordinary read of a queue. It counts few jobs, since it is called
// when the last job has begun.
func (q *belfryQueue) Unsettled(ctx context.Context) (bool, error) {
	queues, err := q.caller.Queues(ctx)
	if err != nil {
		return false, err
	}
	for _, s := range queues {
		if s.Name == task.DefaultQueue {
			return s.Ready+s.Running+s.Scheduled > 0, nil
		}
	}
	return false, fmt.Errorf("there is no queue %q", task.DefaultQueue)
}

func (q *belfryQueue) Close() error {
	q.loops.stop()
	if q.caller == q.worker {
		return q.worker.Close()
	}
	return errors.Join(q.caller.Close(), q.worker.Close())
}
