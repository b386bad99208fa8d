// Package batch has one call of a handler take several jobs of its task at once.
//
// Each job keeps its own lease, attempt, log, timeout, retries and result: what a batch shares is the call. Every job of it has a
// slot of the worker, so a queue needs as many slots as its batches have jobs.
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

// Options say how large a batch is and how long it waits. The zero value is ready to use.
type Options struct {
	// Size is how many jobs a batch has at most, 1 to 1,000. Default: 100. Batches stay smaller where the worker has fewer
	// slots for the queue.
	Size int
	// Wait is how long the first job of a batch waits for others, 1ms to 1m. Default: 100ms. It counts in the timeouts of
	// the jobs.
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

// Handle registers fn as the handler of batches of the task name, and returns the task's typed face: a job is enqueued as
// for any handler.
//
// A batch begins when it has [Options.Size] jobs, or when its first has waited for [Options.Wait]. Its jobs are of one
// namespace, and in no order. Several batches run at once where the worker has slots for them. fn gives each job its result with
// [Job.Succeed] or [Job.Fail], in any order and from any goroutine, before it returns. A job that has its result leaves
// its slot. When fn returns or panics, jobs without a result fail and are tried again as their task says: with the error
// that fn returned, with the panic, or because they got none.
//
// The context of fn ends when no job is left that it could work for: when those without a result have been canceled, have
// run into their timeouts, have lost their lease or are stopped with the worker. [context.Cause] is that of the last of
// them. A cause that ends one job alone ends [Job.Context], and the batch goes on with the others; a job that ends before its
// batch begins is left out of it. A job whose context has ended and that has no result is left behind after the worker's
// patience, as with any handler.
//
// Registering a bad name or bad options, or a name twice, is a programmer's mistake and panics.
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
	ended chan struct{} // it has its result

	// Guarded by the batch's mu.
	settled bool // it has its result
	over    bool // its context ended before
	out     Out
	err     error
}

// Context is that of the job alone, as a handler of single jobs has it: [worker.Logger], [worker.Step] and
// [worker.FinishFor] take it, and it ends when the job has to. It has ended after the job got its result.
func (j *Job[In, Out]) Context() context.Context { return j.ctx }

// Job is the job as it stood at the claim.
func (j *Job[In, Out]) Job() job.Job {
	is, _ := worker.JobFrom(j.ctx)
	return is
}

// Succeed is the result of a job that went well. The first result counts.
func (j *Job[In, Out]) Succeed(out Out) { j.of.settle(j, out, nil) }

// Fail is the result of a job that did not go well. The error means what it means when a handler of single jobs returns it:
// see [worker.NoRetry] and [worker.Snooze]. Nil is an error as well. The first result counts.
func (j *Job[In, Out]) Fail(err error) {
	if err == nil {
		err = errNil
	}
	var none Out
	j.of.settle(j, none, err)
}

// gathering makes batches of the jobs of a task.
type gathering[In, Out any] struct {
	options Options
	fn      func(ctx context.Context, jobs []*Job[In, Out]) error

	mu      sync.Mutex
	forming map[string]*group[In, Out] // by namespace
}

// handle is the handler of a single job: it waits for what its batch makes of it.
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

// join puts a job into the batch that forms, and begins that when it is full. The channel is closed when it begins.
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

// leave takes a job out of a batch that has not begun, and reports whether that was so.
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

// begin runs the batch that forms.
func (g *gathering[In, Out]) begin(namespace string) {
	b := g.forming[namespace]
	delete(g.forming, namespace)
	b.timer.Stop()
	go b.run(g.fn)
}
