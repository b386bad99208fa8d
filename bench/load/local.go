package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Local drives a queue in this process.
type Local struct {
	queue Queue
	tally *tally
	next  atomic.Int64 // number of the next job
	stop  func() error
}

// NewLocal makes a driver of a queue and owns the queue.
func NewLocal(q Queue) *Local { return &Local{queue: q, tally: newTally()} }

// Insert implements [Driver].
func (l *Local) Insert(ctx context.Context, in Insert) (Inserted, error) {
	call, err := l.call(in)
	if err != nil {
		return Inserted{}, err
	}
	if l.next.Load()+int64(in.Jobs) > maxJobs {
		return Inserted{}, fmt.Errorf("more than %d jobs in all", maxJobs)
	}
	var left, done atomic.Int64
	left.Store(int64(in.Jobs))
	begun := time.Now()
	err = l.callers(in.Callers, func() error {
		for in.For == 0 || time.Since(begun) < in.For {
			n := min(int64(in.Batch), left.Add(-int64(in.Batch))+int64(in.Batch))
			if n <= 0 {
				return nil
			}
			if err := call(ctx, l.numbers(n)); err != nil {
				return err
			}
			done.Add(n)
		}
		return nil
	})
	return Inserted{int(done.Load()), time.Since(begun)}, err
}

// call enqueues a batch of an insert.
func (l *Local) call(in Insert) (func(ctx context.Context, jobs []int64) error, error) {
	switch fast, ok := l.queue.(Faster); {
	case in.Callers < 1 || in.Batch < 1:
		return nil, errors.New("an insert needs callers and a batch")
	case in.Batch == 1:
		return func(ctx context.Context, jobs []int64) error { return l.queue.Enqueue(ctx, jobs[0]) }, nil
	case in.Fast && ok:
		return fast.EnqueueFast, nil
	}
	return l.queue.EnqueueMany, nil
}

func (l *Local) numbers(n int64) []int64 {
	last := l.next.Add(n)
	jobs := make([]int64, n)
	for i := range jobs {
		jobs[i] = last - n + int64(i)
	}
	return jobs
}

// callers runs fn so many times at the same time.
func (l *Local) callers(n int, fn func() error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = fn() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Start implements [Driver].
func (l *Local) Start(ctx context.Context) (err error) {
	if l.stop != nil {
		return errors.New("the worker runs already")
	}
	// The worker lives until Stop, but ctx only until the end of the call.
	l.stop, err = l.queue.Work(context.WithoutCancel(ctx), l.tally.ran)
	return err
}

// Stop implements [Driver].
func (l *Local) Stop(context.Context) error {
	stop := l.stop
	l.stop = nil
	if stop == nil {
		return nil
	}
	return stop()
}

// BurnDown implements [Driver].
func (l *Local) BurnDown(ctx context.Context) (b Burnt, err error) {
	b.Jobs = int(l.next.Load() - l.tally.count.Load())
	begun := time.Now()
	if err := l.Start(ctx); err != nil {
		return b, err
	}
	if err := l.tally.wait(ctx, l.next.Load()); err != nil {
		return b, l.unfinished(err)
	}
	b.Started = time.Since(begun)
	err = l.settled(ctx)
	b.Settled = time.Since(begun)
	return b, err
}

func (l *Local) unfinished(err error) error {
	return fmt.Errorf("%d of %d jobs have run: %w", l.tally.count.Load(), l.next.Load(), err)
}

// settled waits until the record is complete. It polls only after the last handler
// has begun, so that polling hardly slows the worker.
func (l *Local) settled(ctx context.Context) error {
	for {
		some, err := l.queue.Unsettled(ctx)
		if err != nil || !some {
			return err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("all jobs have run, and some are not settled: %w", err)
		}
	}
}

// EndToEnd implements [Driver].
func (l *Local) EndToEnd(ctx context.Context, in Insert) (Inserted, error) {
	if err := l.Start(ctx); err != nil {
		return Inserted{}, err
	}
	begun := time.Now()
	out, err := l.Insert(ctx, in)
	if err == nil {
		if err = l.tally.wait(ctx, l.next.Load()); err != nil {
			err = l.unfinished(err)
		}
	}
	if err == nil {
		err = l.settled(ctx)
	}
	out.Took = time.Since(begun)
	return out, errors.Join(err, l.Stop(ctx))
}

// Close implements [Driver].
func (l *Local) Close() error {
	return errors.Join(l.Stop(context.Background()), l.queue.Close())
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
