package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/internal/gather"
	"github.com/belfry-run/belfry/job"
)

const (
	// smallInput bounds the inputs of a call that shares a request, in bytes: a larger one costs much more than its request.
	smallInput = 64 << 10
	// sharedInput bounds those of a request. Proxies refuse bodies of more than 1 MiB, unless they are told otherwise.
	sharedInput = 512 << 10
	// sharePatience is how long a call waits for others to be answered before it goes alone: a connection may be dead.
	sharePatience = time.Second
)

// Enqueue implements [httpapi.Jobs]. It is repeated when the server cannot be reached
// only if every job has an idempotency key.
//
// Calls that are made while two requests are under way share the next one, if their inputs are small: each has its own
// answer, and where the request is refused, each is sent alone. A request waits up to 5 ms for calls of as many callers as
// the last has answered. [Options.Apart] says otherwise.
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
	ns = slices.Clone(ns)
	for i := range ns { // its caller may change what it has when it has left
		ns[i].Input = slices.Clone(ns[i].Input)
	}
	go func() { // goes on for the others when this caller leaves, and ends with the request
		patient, stop := context.WithTimeout(ctx, sharePatience)
		defer stop()
		out, err := calls.Do(patient, "", ns, func(_ context.Context, together []*gather.Call) {
			ctx := ctx
			if len(together) > 1 || &together[0].Jobs[0] != &ns[0] { // it may carry out that of another alone
				ctx = context.WithoutCancel(ctx)
			}
			var all []job.NewJob
			for _, a := range together {
				all = append(all, a.Jobs...)
			}
			out, err := c.enqueue(ctx, all, keyed)
			gather.Share(together, out, err, func(jobs []job.NewJob) ([]job.Enqueued, error) { return c.enqueue(ctx, jobs, keyed) })
		})
		if errors.As(err, new(gather.Left)) && ctx.Err() == nil {
			out, err = c.enqueue(ctx, ns, keyed)
		}
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
