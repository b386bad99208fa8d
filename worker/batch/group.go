package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/worker"
)

var (
	errNil  = errors.New("failed without an error")
	errNone = errors.New("its batch gave it no result: call Succeed or Fail for each job")
	errGone = errors.New("the handler of its batch ended its goroutine (runtime.Goexit, or FailNow of a test)")
)

// group is a batch. The gathering guards its jobs until the batch begins; after that they belong to run.
type group[In, Out any] struct {
	jobs  []*Job[In, Out]
	begun chan struct{}
	timer *time.Timer

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	live   int // jobs without a result and with a live context
	over   int // jobs without a result whose context has ended
	cause  error
}

// run calls the handler, then fails the jobs without a result. Jobs whose context has ended are left out. Their Err is asked,
// because it looks at the lease: a process that was suspended begins no batch of jobs that others may have.
func (b *group[In, Out]) run(fn func(ctx context.Context, jobs []*Job[In, Out]) error) {
	ctx, cancel := context.WithCancelCause(worker.WithoutJob(b.jobs[0].ctx))
	defer cancel(nil)
	b.cancel, b.live = cancel, len(b.jobs)
	close(b.begun)
	b.jobs = slices.DeleteFunc(b.jobs, func(j *Job[In, Out]) bool {
		over := j.ctx.Err() != nil
		if over {
			j.Fail(context.Cause(j.ctx))
		}
		return over
	})
	if len(b.jobs) == 0 {
		return
	}
	for _, j := range b.jobs {
		defer context.AfterFunc(j.ctx, func() { b.end(j) })()
	}
	err := errGone
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n\n%s", v, debug.Stack())
		}
		for _, j := range b.jobs {
			j.Fail(failureOf(err, j.ctx))
		}
	}()
	if err = fn(ctx, slices.Clone(b.jobs)); err == nil { // a copy, which fn may sort and cut
		err = errNone
	}
}

// failureOf converts the error of a batch to the error of one job. ErrCanceled of another job does not cancel this one.
func failureOf(err error, ctx context.Context) error {
	if errors.Is(err, worker.ErrCanceled) && ctx.Err() == nil {
		return errors.New(err.Error())
	}
	return err
}

// end records that the context of a job has ended.
func (b *group[In, Out]) end(j *Job[In, Out]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j.settled {
		return
	}
	j.over, b.cause = true, context.Cause(j.ctx)
	b.live--
	b.over++
	b.cancelIfNoneLeft()
}

// settle gives a job its result, if it has none.
func (b *group[In, Out]) settle(j *Job[In, Out], out Out, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j.settled {
		return
	}
	j.settled, j.out, j.err = true, out, err
	close(j.ended)
	if j.over {
		b.over--
		return
	}
	b.live--
	b.cancelIfNoneLeft()
}

func (b *group[In, Out]) cancelIfNoneLeft() {
	if b.live == 0 && b.over > 0 {
		b.cancel(b.cause)
	}
}
