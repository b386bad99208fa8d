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

// attemptContext is the context of an attempt: below its slot's, with a deadline.
// The cost of that, a timer and a place in the list of contexts that the slot's end
// concerns, is paid when the handler asks the context for anything but its run.
// Many a short handler never does.
type attemptContext struct {
	parent   context.Context
	deadline time.Time
	run      *Run

	mu   sync.Mutex
	made context.Context
	stop context.CancelFunc
	over bool
	past bool // its task has ended, and its time is another
}

func (c *attemptContext) real() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		parent := c.parent
		if !time.Now().Before(c.deadline) { // which came first, whatever has ended behind it
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
func (c *attemptContext) Err() error                  { return c.real().Err() }

func (c *attemptContext) Value(key any) any {
	if key == (runKey{}) {
		return c.run
	}
	return c.real().Value(key)
}

// cause is why it has ended by now, if it has.
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

// end is for when the attempt is over.
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

// WithoutJob keeps the values of a context of an attempt, and neither its end nor its job: [JobFrom] finds none in it. It is for
// work of several jobs.
func WithoutJob(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), runKey{}, (*Run)(nil))
}

// JobFrom is the job that runs under this context, as it stood at the claim.
func JobFrom(ctx context.Context) (job.Job, bool) {
	r, ok := runFrom(ctx)
	if !ok {
		return job.Job{}, false
	}
	return *r.Job, true
}

// Logger writes into the log of the attempt that runs under this context.
// Outside of an attempt it is [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	if r, ok := runFrom(ctx); ok {
		return slog.New(slog.NewTextHandler(r.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.Default()
}

// settleFlush is how long FinishFor waits for the log to be delivered.
const settleFlush = 2 * time.Second

// FinishFor is the success of the current attempt, for a handler that settles
// its job in the database transaction of its own work: build it, hand it to
// the store's FinishTx, commit, return nil. When the transaction commits, the
// job has succeeded together with the work; when it does not, neither has.
//
// The worker reports afterwards as always. The answer that the lease is gone
// is then expected. Lines that the handler logs after FinishFor may be lost, because
// the settled lease accepts no more.
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

// encodeOutput leaves out what says nothing.
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
