package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
)

type runKey struct{}

// attemptContext is the context of an attempt: a child of its slot's context,
// with a deadline. The real context, with its timer and its registration at the
// parent, is created when the handler asks for more than its run. Many short
// handlers never do.
type attemptContext struct {
	parent   context.Context
	deadline time.Time
	run      *Run

	mu   sync.Mutex
	made context.Context
	stop context.CancelFunc
	over bool
	past bool // the task has ended; only overtime runs
}

func (c *attemptContext) real() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		parent := c.parent
		if !time.Now().Before(c.deadline) { // the deadline came first, even if the parent has ended since
			parent = context.WithoutCancel(parent)
		}
		c.made, c.stop = context.WithDeadlineCause(parent, c.deadline, ErrTimeout)
		if c.over {
			c.stop()
		}
	}
	return c.made
}

func (c *attemptContext) Deadline() (time.Time, bool) { return c.real().Deadline() }
func (c *attemptContext) Done() <-chan struct{}       { return c.real().Done() }

func (c *attemptContext) Err() error {
	c.run.until.Holds() // ends the attempts of the session if not
	return c.real().Err()
}

func (c *attemptContext) Value(key any) any {
	if key == (runKey{}) {
		return c.run
	}
	return c.real().Value(key)
}

// cause returns why the context has ended, or nil if it has not.
func (c *attemptContext) cause(now time.Time) error {
	c.mu.Lock()
	past := c.past
	lasts := c.made == nil && c.parent.Err() == nil && now.Before(c.deadline)
	c.mu.Unlock()
	switch {
	case past:
		return context.Cause(c.parent)
	case lasts:
		return nil
	}
	return context.Cause(c.real())
}

// end releases the real context after the attempt.
func (c *attemptContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.stop != nil {
		c.stop()
	}
}

func runFrom(ctx context.Context) (*Run, bool) {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r, r != nil
}

// WithoutJob returns a context with the values of ctx, but without its cancellation and its job: [JobFrom] finds none. Use
// it for work that belongs to several jobs.
func WithoutJob(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), runKey{}, (*Run)(nil))
}

// JobFrom returns the job that runs under ctx, as it was at the claim. The
// boolean is false outside of an attempt.
func JobFrom(ctx context.Context) (job.Job, bool) {
	r, ok := runFrom(ctx)
	if !ok {
		return job.Job{}, false
	}
	return *r.Job, true
}

// Logger returns a logger that writes into the log of the attempt that runs
// under ctx. Outside of an attempt it returns [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	if r, ok := runFrom(ctx); ok {
		return slog.New(slog.NewTextHandler(r.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.Default()
}

// settleFlush is how long FinishFor waits for the log to be delivered.
const settleFlush = 2 * time.Second

// FinishFor returns the success of the current attempt with the output out. It
// is for a handler that ends its job in the database transaction of its own
// work: pass the result to the store's FinishTx, commit, return nil. The job
// succeeds if and only if the transaction commits.
//
// The worker reports the attempt afterwards as always and expects the answer
// that the lease is gone. Lines that the handler logs after FinishFor may be
// lost, because a settled lease accepts no log.
func FinishFor(ctx context.Context, out any) (job.Finish, error) {
	r, ok := runFrom(ctx)
	if !ok {
		return job.Finish{}, core.Errorf(core.Internal, "FinishFor outside of an attempt").
			WithHint("pass the context that the handler was called with")
	}
	if ctx.Err() != nil {
		return job.Finish{}, context.Cause(ctx)
	}
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK}
	var err error
	if f.Output, err = encodeOutput(out); err != nil {
		return job.Finish{}, err
	}
	f.LogCut = r.log.Flush(settleFlush)
	r.settled.Store(true)
	return f, nil
}

// encodeOutput returns out as JSON. An empty output is nil.
func encodeOutput(out any) (json.RawMessage, error) {
	if _, empty := out.(struct{}); empty || out == nil {
		return nil, nil
	}
	b, err := json.Marshal(out)
	switch {
	case err != nil:
		return nil, core.Errorf(core.Invalid, "output is not JSON: %w", err)
	case len(b) > core.MaxOutput:
		return nil, core.Errorf(core.TooLarge, "output of %d bytes is over the limit of %d", len(b), core.MaxOutput)
	case string(b) == "null":
		return nil, nil
	}
	return b, nil
}
