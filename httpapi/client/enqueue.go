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
	// smallInput is the largest total input of a call that shares a request, in bytes. A larger input costs much more than
	// the request.
	smallInput = 64 << 10
	// sharedInput is the largest total input of a shared request, in bytes. By default proxies refuse bodies over 1 MiB.
	sharedInput = 512 << 10
	// shareBeside is how long a request is under way before a second one begins beside it. To a near server more calls share
	// one request, which costs each a quarter less CPU where both run on one machine. To a far one, no call waits for a whole
	// round trip.
	shareBeside = 50 * time.Millisecond
	// sharePatience is how long a call waits for requests under way before it goes alone, because a connection may be dead.
	sharePatience = time.Second
)

// Enqueue implements [httpapi.Jobs]. If the server cannot be reached, it is repeated only if every job has an idempotency
// key.
//
// Calls with small inputs that are made while a request is under way share the next one, which begins with the answer, or
// beside that request if it takes longer than 50 ms. Each gets its own answer; if the request is refused, each is sent alone. A
// request waits up to 5 ms for as many callers as the last one had. [Options.Apart] turns sharing off.
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
	ns = slices.Clone(ns)
	for i := range ns { // copied, because a caller that has given up may change its jobs
		ns[i].Input = slices.Clone(ns[i].Input)
	}
	out, err := calls.Do(ctx, "", ns, func(ctx context.Context, together []*gather.Call) {
		var all []job.NewJob
		for _, a := range together {
			all = append(all, a.Jobs...)
		}
		out, err := c.enqueue(ctx, all, keyed)
		gather.Share(together, out, err, func(jobs []job.NewJob) ([]job.Enqueued, error) { return c.enqueue(ctx, jobs, keyed) })
	})
	switch {
	case !errors.As(err, new(gather.Left)):
		return out, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return c.enqueue(ctx, ns, keyed)
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
