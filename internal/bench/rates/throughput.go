//go:build linux

// Package rates measures the cost and the start latency of jobs: one by one, in bulk, at a fixed rate, beside a long
// transaction, and compared with the fewest statements that could do the same.
package rates

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/internal/bench/database"
	"github.com/belfry-run/belfry/internal/bench/node"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// bulk is the number of jobs in a bulk enqueue.
const bulk = 1000

// Work is a number of jobs and their usage.
type Work struct {
	Jobs int
	database.Usage
}

// Rate returns the jobs per second.
func (w Work) Rate() float64 { return float64(w.Jobs) / w.Took.Seconds() }

// Per returns the usage per job.
func (w Work) Per(total float64) float64 { return total / float64(max(w.Jobs, 1)) }

// Enqueuer is a store, or a client of a server that has one.
type Enqueuer interface {
	Enqueue(ctx context.Context, jobs []job.NewJob) ([]job.Enqueued, error)
}

// EnqueueSingly enqueues jobs one by one for a while, from several callers at once.
func EnqueueSingly(ctx context.Context, s *database.Site, st Enqueuer, callers int, d time.Duration) (w Work, err error) {
	if _, err := st.Enqueue(ctx, database.NewJobs(1)); err != nil { // makes the task, and warms the caches
		return w, err
	}
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	var jobs atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for time.Since(m.Begun) < d {
				if _, err := st.Enqueue(ctx, database.NewJobs(1)); err != nil {
					failed <- err
					return
				}
				jobs.Add(1)
			}
		})
	}
	all.Wait()
	w.Usage, err = m.Read(ctx)
	w.Jobs = int(jobs.Load())
	select {
	case refused := <-failed:
		err = errors.Join(err, refused)
	default:
	}
	return w, err
}

// EnqueueBulk enqueues n jobs, a thousand in a call, from one caller.
func EnqueueBulk(ctx context.Context, s *database.Site, st *store.Store, n int) (w Work, err error) {
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	for w.Jobs < n {
		step := min(bulk, n-w.Jobs)
		if _, err := st.Enqueue(ctx, database.NewJobs(step)); err != nil {
			return w, err
		}
		w.Jobs += step
	}
	w.Usage, err = m.Read(ctx)
	return w, err
}

// Burn measures n waiting jobs of the store, from the start of a worker to the commit of the last result.
func Burn(ctx context.Context, s *database.Site, st *store.Store, n int, t node.Tuning) (w Work, err error) {
	var h worker.Handlers
	node.Nothing(&h)
	counted := node.NewTally()
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	node, err := node.Embed(ctx, st, t, &h, counted)
	if err != nil {
		return w, err
	}
	err = node.Await(ctx, counted, int64(n))
	w.Jobs = n
	if err == nil {
		w.Usage, err = m.Read(ctx)
	}
	return w, errors.Join(err, node.Stop())
}

// Life is the cost of jobs from their bulk enqueue to their end, and what they leave.
type Life struct {
	Bulk, Burn Work
	Dead       float64 // row versions per job; PostgreSQL only
	Kept       float64 // bytes per finished job
}

// LiveAndDie enqueues n jobs in bulk in a fresh database and runs them.
func LiveAndDie(ctx context.Context, d *database.Database, n int, t node.Tuning) (l Life, err error) {
	s, err := d.NewSite(ctx)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Calm(ctx); err != nil {
		return l, err
	}
	empty, err := s.Size(ctx)
	if err != nil {
		return l, err
	}
	err = s.With(ctx, store.Options{}, func(st *store.Store) (err error) {
		if l.Bulk, err = EnqueueBulk(ctx, s, st, n); err != nil {
			return err
		}
		l.Burn, err = Burn(ctx, s, st, n, t)
		return err
	})
	if err != nil {
		return l, err
	}
	dead, err := s.DeadTuples(ctx)
	if err != nil {
		return l, err
	}
	full, err := s.Size(ctx)
	l.Dead, l.Kept = float64(dead)/float64(n), float64(full-empty)/float64(n)
	return l, err
}
