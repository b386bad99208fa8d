package jobs

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// gatherPatience bounds a transaction of several callers: the deadline of one caller must not end it.
const gatherPatience = 30 * time.Second

// Enqueue makes all requested jobs, or none. A job whose key is taken is not made again: the answer is the job that has the key.
func (s *Store) Enqueue(ctx context.Context, ns []job.NewJob) (_ []job.Enqueued, err error) {
	defer func() { s.bounds.TellRefused(err) }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Opt.Claims.NoGather {
		return s.enqueueOnce(ctx, func() []job.NewJob { return ns })
	}
	return s.gather.Do(ctx, access.ActorOf(ctx), ns, s.enqueueTogether)
}

// enqueueTogether makes the jobs of several calls by one actor in one transaction. If it is refused, each call is tried alone.
// Any other error is the answer to all calls: a commit whose answer was lost may have happened, and must not be repeated. The
// end of one caller's context does not end the calls of others.
func (s *Store) enqueueTogether(ctx context.Context, together []*gather.Call) {
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatherPatience)
	defer cancel()
	if len(together) > 1 || s.gather.Late {
		ctx = all
	}
	out, err := s.enqueueOnce(ctx, func() (jobs []job.NewJob) {
		together = s.gather.Joined(together)
		for _, a := range together {
			jobs = append(jobs, a.Jobs...)
		}
		return jobs
	})
	// The calls run alone but concurrently, so they can at least share a commit.
	gather.Share(together, out, err, func(jobs []job.NewJob) ([]job.Enqueued, error) {
		return s.enqueueOnce(all, func() []job.NewJob { return jobs })
	})
}

// enqueueOnce is one transaction. It calls jobs when it needs the list of jobs, and again if the transaction begins again.
func (s *Store) enqueueOnce(ctx context.Context, jobs func() []job.NewJob) (out []job.Enqueued, err error) {
	a := joinedClaim{s: s}
	defer func() { a.end(err) }()
	ahead := func(c *Change) {
		ns := jobs()
		if n := len(ns); n > 0 && n <= core.MaxBatch {
			_, _ = c.tasks().TasksByName(taskNames(ns))
			_, _ = c.SQL.NextIDs(ctx, c.Tx, "job", n)
			_, _, _ = c.queues().AnyLimits()
			if !s.Opt.Claims.NoJoin {
				a.foresee(c, ns)
			}
		}
	}
	err = base.AgainIfFreed(func() error {
		return s.writeAhead(ctx, "enqueue", ahead, func(c *Change) error {
			out, err = c.enqueue(jobs(), a.begin())
			return err
		})
	})
	return out, err
}
