package client

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/job"
)

// smallInput bounds the inputs of a call that shares a request, in bytes. A larger one costs a request what it costs alone,
// and many of them would be over the limit of a body.
const smallInput = 64 << 10

// Enqueue implements [httpapi.Jobs]. It is repeated when the server cannot be reached
// only if every job has an idempotency key.
//
// Calls that are made while two requests are under way share the next one, if their inputs are small: each has its own
// answer, and where the request is refused, each is sent alone. [Options.Apart] says otherwise.
func (c JobCalls) Enqueue(ctx context.Context, ns []job.NewJob) ([]job.Enqueued, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	keyed, size := true, 0
	for _, n := range ns {
		keyed = keyed && n.Key != ""
		size += len(n.Input)
	}
	if c.server.opts.Apart || size > smallInput {
		return c.enqueue(ctx, ns, keyed)
	}
	calls := &c.server.unkeyed // a request is repeated for all of its jobs or for none
	if keyed {
		calls = &c.server.keyed
	}
	type answer struct {
		out []job.Enqueued
		err error
	}
	done := make(chan answer, 1)
	go func() { // goes on for the others when this caller leaves, and ends with the request
		out, err := calls.Do(ctx, "", ns, func(ctx context.Context, together []*gather.Call) {
			if len(together) > 1 {
				ctx = context.WithoutCancel(ctx)
			}
			var all []job.NewJob
			for _, a := range together {
				all = append(all, a.Jobs...)
			}
			out, err := c.enqueue(ctx, all, keyed)
			gather.Share(together, out, err, func(jobs []job.NewJob) ([]job.Enqueued, error) { return c.enqueue(ctx, jobs, keyed) })
		})
		done <- answer{out, err}
	}()
	select {
	case a := <-done:
		return a.out, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c JobCalls) enqueue(ctx context.Context, ns []job.NewJob, keyed bool) ([]job.Enqueued, error) {
	var done wire.EnqueuedBatch
	err := c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/jobs", body: wire.NewJobBatch{Jobs: ns}, again: keyed}, &done)
	if err == nil && len(done.Jobs) != len(ns) {
		return nil, core.Errorf(core.Unknown, "%s answered with %d jobs to %d", c.server.base, len(done.Jobs), len(ns)).
			WithHint("is there a proxy in between?")
	}
	return done.Jobs, err
}
