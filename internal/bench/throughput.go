//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-run/belfry/store"
	"github.com/belfry-run/belfry/worker"
)

// bulk is how many jobs a bulk enqueue has.
const bulk = 1000

// Work is how many jobs something did and what that took.
type Work struct {
	Jobs int
	Usage
}

// Rate is jobs per second.
func (w Work) Rate() float64 { return float64(w.Jobs) / w.Took.Seconds() }

// Per is a share of one job.
func (w Work) Per(total float64) float64 { return total / float64(max(w.Jobs, 1)) }

// EnqueueSingly enqueues one job by one for a while, from several callers at once.
func EnqueueSingly(ctx context.Context, s *Site, st *store.Store, callers int, d time.Duration) (w Work, err error) {
	if _, err := st.Enqueue(ctx, newJobs(1)); err != nil { // makes the task, and warms the caches
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
			for time.Since(m.begun) < d {
				if _, err := st.Enqueue(ctx, newJobs(1)); err != nil {
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
func EnqueueBulk(ctx context.Context, s *Site, st *store.Store, n int) (w Work, err error) {
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	for w.Jobs < n {
		step := min(bulk, n-w.Jobs)
		if _, err := st.Enqueue(ctx, newJobs(step)); err != nil {
			return w, err
		}
		w.Jobs += step
	}
	w.Usage, err = m.Read(ctx)
	return w, err
}

// Burn runs n jobs that wait in the store, from the start of a worker until the last result was committed.
func Burn(ctx context.Context, s *Site, st *store.Store, n int, t Tuning) (w Work, err error) {
	var h worker.Handlers
	nothing(&h)
	counted := newTally()
	m, err := s.Meter(ctx)
	if err != nil {
		return w, err
	}
	node, err := embed(ctx, st, t, &h, counted)
	if err != nil {
		return w, err
	}
	err = node.await(ctx, counted, int64(n))
	w.Jobs = n
	if err == nil {
		w.Usage, err = m.Read(ctx)
	}
	return w, errors.Join(err, node.stop())
}

// Life is what jobs leave behind from their enqueueing in bulk to their end.
type Life struct {
	Bulk, Burn Work
	Dead       float64 // row versions per job; PostgreSQL only
	Kept       float64 // bytes per finished job
}

// LiveAndDie enqueues n jobs in bulk in a fresh database and runs them.
func LiveAndDie(ctx context.Context, d *Database, n int, t Tuning) (l Life, err error) {
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

// work is measure 1.
func (r *run) work(ctx context.Context) error {
	return r.rounds(ctx, r.Rounds, r.all, func(d *Database) (err error) {
		s, err := d.NewSite(ctx)
		if err != nil {
			return err
		}
		err = s.With(ctx, store.Options{}, func(st *store.Store) error {
			for _, callers := range []int{1, 32} {
				w, err := EnqueueSingly(ctx, s, st, callers, r.Singly)
				if err != nil {
					return err
				}
				r.costs(d.Name, fmt.Sprintf("enqueue one by one, callers: %d", callers), w)
			}
			return nil
		})
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		for _, t := range []struct {
			name string
			Tuning
		}{{"default", Tuning{}}, {"tuned", r.Tuned}} {
			l, err := LiveAndDie(ctx, d, r.Jobs, t.Tuning)
			if err != nil {
				return err
			}
			if t.name == "default" {
				r.costs(d.Name, "enqueue 1,000 in a call", l.Bulk)
			}
			burn := fmt.Sprintf("burn-down of %s jobs, %s", thousands(fmt.Sprint(r.Jobs)), t.name)
			r.costs(d.Name, burn, l.Burn)
			r.report.Add(d.Name, "a life in bulk, "+t.name+": CPU per job, all", Time, l.Burn.Per(float64(l.Burn.CPU()+l.Bulk.CPU())))
			if d.Postgres() {
				r.report.Add(d.Name, "a life in bulk, "+t.name+": dead tuples per job", Plain, l.Dead)
			}
			r.report.Add(d.Name, "a life in bulk, "+t.name+": kept on disk per job", Bytes, l.Kept)
		}
		return nil
	})
}
