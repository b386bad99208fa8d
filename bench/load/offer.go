package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// offering is the state of an [Offer]. Its times count from the begin of the tally.
type offering struct {
	Offer
	l      *Local
	first  int64 // number of the first job
	due    []int64
	called []atomic.Int64
	watch  *watch
}

// Offer implements [Driver].
func (l *Local) Offer(ctx context.Context, o Offer) (Offered, error) {
	n := max(1, int(o.Rate*o.For.Seconds()))
	if l.stop == nil || o.Callers < 1 || l.next.Load()+int64(n) > maxJobs {
		return Offered{}, errors.New("an offer needs a worker, callers, and numbers for its jobs")
	}
	f := &offering{Offer: o, l: l, first: l.next.Add(int64(n)) - int64(n), called: make([]atomic.Int64, n)}
	f.watch = &watch{first: f.first, at: make([]atomic.Int64, n)}
	f.plan(n)
	l.tally.watch.Store(f.watch)
	defer l.tally.watch.Store(nil)
	var next atomic.Int64
	err := l.callers(o.Callers, func() error {
		if f.Gap > 0 {
			return f.sendDue(ctx, int(next.Add(1)-1))
		}
		return f.sendEach(ctx, &next)
	})
	if err != nil {
		return Offered{}, err
	}
	patient, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	if err := l.tally.wait(patient, l.next.Load()); err != nil && ctx.Err() != nil {
		return Offered{}, ctx.Err()
	}
	return f.result(), nil
}

// plan returns the time at which each job is to be enqueued. The first moments are
// free, so that callers can get ready.
func (f *offering) plan(n int) {
	start := f.now() + int64(5*time.Millisecond)
	gap := 1e9 / f.Rate
	f.due = make([]int64, n)
	for i := range f.due {
		at := float64(i)
		if f.Jitter {
			at += rand.Float64() - 0.5
		}
		f.due[i] = start + int64(max(0, at)*gap)
	}
}

func (f *offering) now() int64 { return int64(time.Since(f.l.tally.begun)) }

func (f *offering) until(ctx context.Context, at int64) error {
	if d := at - f.now(); d > 0 {
		return sleep(ctx, time.Duration(d))
	}
	return ctx.Err()
}

// sendEach is a caller that takes the next free job, and enqueues it
// when it is due.
func (f *offering) sendEach(ctx context.Context, next *atomic.Int64) error {
	for {
		i := next.Add(1) - 1
		if i >= int64(len(f.due)) {
			return nil
		}
		if err := f.until(ctx, f.due[i]); err != nil {
			return err
		}
		f.called[i].Store(f.now())
		if err := f.l.queue.Enqueue(ctx, f.first+i); err != nil {
			return err
		}
	}
}

// sendDue is a caller with a share of the jobs. It enqueues all due jobs at once,
// and then leaves a gap.
func (f *offering) sendDue(ctx context.Context, caller int) error {
	for i := caller; i < len(f.due); {
		if err := f.until(ctx, f.due[i]); err != nil {
			return err
		}
		now := f.now()
		var jobs []int64
		for ; i < len(f.due) && f.due[i] <= now; i += f.Callers {
			f.called[i].Store(now)
			jobs = append(jobs, f.first+int64(i))
		}
		var err error
		if len(jobs) == 1 {
			err = f.l.queue.Enqueue(ctx, jobs[0])
		} else {
			err = f.l.queue.EnqueueMany(ctx, jobs)
		}
		if err = errors.Join(err, f.until(ctx, now+int64(f.Gap))); err != nil {
			return err
		}
	}
	return nil
}

func (f *offering) result() Offered {
	end := f.now()
	out := Offered{Jobs: len(f.due)}
	fromCall, fromDue := make([]int64, len(f.due)), make([]int64, len(f.due))
	for i := range f.due {
		at := f.watch.at[i].Load()
		if at == 0 {
			out.Missing++
			at = end
		}
		fromCall[i], fromDue[i] = at-f.called[i].Load(), at-f.due[i]
	}
	out.FromCall, out.FromDue = latency(fromCall), latency(fromDue)
	return out
}

// latency sorts the list.
func latency(list []int64) Latency {
	slices.Sort(list)
	rank := func(part float64) time.Duration { // the smallest value that this part of the list does not exceed
		return time.Duration(list[max(0, int(float64(len(list))*part+0.9999999)-1)])
	}
	return Latency{rank(0.50), rank(0.99), rank(1)}
}
