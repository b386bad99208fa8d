// Package batch calls a handler once for several jobs of its task.
//
// Each job keeps its own lease, attempt, log, timeout, retries and result; a batch shares only the call. Every job of a batch
// occupies a slot of the worker, so a queue needs as many slots as its batches have jobs.
package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// Options sets the size of a batch and how long it waits for jobs. The zero value is ready to use.
type Options struct {
	// Size is the most jobs of a batch, 1 to 1,000. Default: 100. Batches stay smaller where the worker has fewer slots for
	// the queue.
	Size int
	// Wait is how long the first job of a batch waits for others, 1ms to 1m. Default: 100ms. The wait counts towards the
	// timeouts of the jobs.
	Wait time.Duration
}

// Limits and defaults of the options.
const (
	MaxSize     = 1000
	MinWait     = time.Millisecond
	MaxWait     = time.Minute
	defaultSize = 100
	defaultWait = 100 * time.Millisecond
)

func (o Options) withDefaults() Options {
	o.Size, o.Wait = core.Or(o.Size, defaultSize), core.Or(o.Wait, defaultWait)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Size < 1 || o.Size > MaxSize:
		return core.InvalidField("size", fmt.Sprint(o.Size), fmt.Sprintf("is outside 1 to %d", MaxSize), "")
	case o.Wait < MinWait || o.Wait > MaxWait:
		return core.InvalidField("wait", o.Wait.String(), fmt.Sprintf("is outside %s to %s", MinWait, MaxWait), "")
	}
	return nil
}

// Handle registers fn as the handler of batches of the task name, and returns the typed task for enqueueing. Jobs are
// enqueued one by one, as for any handler.
//
// A batch begins when it has [Options.Size] jobs, or when its first job has waited for [Options.Wait]. Its jobs are of one
// namespace, in no order. Several batches run at once if the worker has slots for them.
//
// fn gives each job its result with [Job.Succeed] or [Job.Fail] before it returns, in any order and from any goroutine. A job
// with a result frees its slot. When fn returns or panics, jobs without a result fail with the returned error or the panic,
// or, if fn returned nil, with an error that says so. They are retried by the policy of their task.
//
// The context of fn ends when every job without a result has ended: it was canceled, timed out, lost its lease or is stopped
// with the worker. [context.Cause] is then the cause of the last of these jobs. A cause that ends a single job ends
// [Job.Context], and the batch goes on with the other jobs. A job that ends before its batch begins is left out of the batch.
// A job without a result whose context has ended is left behind after the worker's patience, as with any handler.
//
// Handle panics if the name or the options are invalid, or if the name is registered already.
func Handle[In, Out any](h *worker.Handlers, name string, o Options, fn func(ctx context.Context, jobs []*Job[In, Out]) error) worker.TaskOf[In, Out] {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		panic("batch.Handle: " + err.Error())
	}
	g := gathering[In, Out]{options: o, fn: fn, forming: map[string]*group[In, Out]{}}
	return worker.Handle(h, name, g.handle)
}

// Job is a job of a batch.
type Job[In, Out any] struct {
	// In is the input, decoded as for [worker.Handle].
	In In

	ctx   context.Context
	of    *group[In, Out]
	ended chan struct{} // closed with the result

	// Guarded by the batch's mu.
	settled bool // has a result
	over    bool // the context ended before the result
	out     Out
	err     error
}

// Context returns the context of this job alone, for [worker.Logger], [worker.Step] and [worker.FinishFor]. It ends when the
// job must end, and at the latest when the job has its result.
func (j *Job[In, Out]) Context() context.Context { return j.ctx }

// Job returns the job as it was at the claim.
func (j *Job[In, Out]) Job() job.Job {
	is, _ := worker.JobFrom(j.ctx)
	return is
}

// Succeed ends the job as succeeded, with the output out. Later results of the job are ignored.
func (j *Job[In, Out]) Succeed(out Out) { j.of.settle(j, out, nil) }

// Fail ends the job with err, which means the same as an error returned by a handler of single jobs: see [worker.NoRetry]
// and [worker.Snooze]. A nil err fails the job as well. Later results of the job are ignored.
func (j *Job[In, Out]) Fail(err error) {
	if err == nil {
		err = errNil
	}
	var none Out
	j.of.settle(j, none, err)
}

// gathering collects the jobs of a task into batches.
type gathering[In, Out any] struct {
	options Options
	fn      func(ctx context.Context, jobs []*Job[In, Out]) error

	mu      sync.Mutex
	forming map[string]*group[In, Out] // by namespace
}

// handle is the handler of a single job: it waits for the result that the batch gives the job.
func (g *gathering[In, Out]) handle(ctx context.Context, in In) (Out, error) {
	j := &Job[In, Out]{In: in, ctx: ctx, ended: make(chan struct{})}
	begun := g.join(j)
	select {
	case <-begun:
	case <-ctx.Done():
		if g.leave(j) {
			var none Out
			return none, context.Cause(ctx)
		}
	}
	<-j.ended
	return j.out, j.err
}

// join adds a job to the forming batch, and begins the batch when it is full. The channel is closed when the batch begins.
func (g *gathering[In, Out]) join(j *Job[In, Out]) <-chan struct{} {
	namespace := j.Job().Namespace
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.forming[namespace]
	if b == nil {
		b = &group[In, Out]{begun: make(chan struct{})}
		b.timer = time.AfterFunc(g.options.Wait, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.forming[namespace] == b {
				g.begin(namespace)
			}
		})
		g.forming[namespace] = b
	}
	j.of = b
	if b.jobs = append(b.jobs, j); len(b.jobs) == g.options.Size {
		g.begin(namespace)
	}
	return b.begun
}

// leave removes a job from its batch. It reports false, and does nothing, if the batch has begun.
func (g *gathering[In, Out]) leave(j *Job[In, Out]) bool {
	namespace := j.Job().Namespace
	g.mu.Lock()
	defer g.mu.Unlock()
	b := j.of
	if g.forming[namespace] != b {
		return false
	}
	b.jobs = slices.DeleteFunc(b.jobs, func(other *Job[In, Out]) bool { return other == j })
	if len(b.jobs) == 0 {
		b.timer.Stop()
		delete(g.forming, namespace)
	}
	return true
}

// begin starts the forming batch of a namespace. g.mu must be held.
func (g *gathering[In, Out]) begin(namespace string) {
	b := g.forming[namespace]
	delete(g.forming, namespace)
	b.timer.Stop()
	go b.run(g.fn)
}
