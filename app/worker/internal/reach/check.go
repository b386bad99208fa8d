package reach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Check is one check of a target in progress. It is for one goroutine; only its
// exchanges are updated by others.
type Check struct {
	Task     task.Task // with its defaults
	Budget   time.Duration
	Result   task.CheckResult
	Facts    condition.Facts // values for conditions
	Secrets  Secrets
	Answered bool                  // there is an answer for conditions
	Mean     time.Duration         // mean of several requests of one look; if set, it is the latency
	Snapshot func() *task.Snapshot // snapshot of an unexpected answer; may be nil

	net       *Net
	began     time.Time
	clock     stopwatch
	exchanges []*Exchange
	stopWatch func()
	body      *bytes.Buffer // memory of Facts.Body
}

// Begin begins a check at the target of a task, which has its defaults.
func (n *Net) Begin(ctx context.Context, t task.Task) *Check {
	c := &Check{Task: t, net: n, began: time.Now()}
	c.clock.start = c.began
	if deadline, bounded := ctx.Deadline(); bounded {
		c.Budget = deadline.Sub(c.began)
	}
	return c
}

// Bounded adds the timeout of a task to a context without a deadline: that of
// the definition, or else [task.DefaultCheckTimeout].
func Bounded(ctx context.Context, t task.Task) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx, func() {}
	}
	limit := task.DefaultCheckTimeout
	if t.Timeout > 0 {
		limit = min(t.Timeout, monitor.MaxCheckTimeout)
	}
	return context.WithTimeoutCause(ctx, limit.D(), worker.ErrTimeout)
}

// Run runs a check, evaluates the task's conditions, and returns the result. A
// panic within is a fault of the worker, not of the target.
func (c *Check) Run(ctx context.Context, how func(context.Context) *Fault) (m task.CheckResult) {
	c.stopWatch = c.net.pulse.watch(c.began, func() { c.Result.Starved = true })
	defer c.StopStarvationWatch()
	defer func() {
		if v := recover(); v != nil {
			m = task.CheckResult{Outcome: task.CheckError, Code: task.CodeInternal, Message: "the check ended in a panic: " + c.Clean(fmt.Sprint(v))}
		}
	}()
	f := how(ctx)
	if c.Answered {
		f = worse(f, c.Judge())
	}
	c.StopStarvationWatch()
	return c.end(ctx, f)
}

// StopStarvationWatch ends the measurement before further work on the answer, for which a
// starved process does not matter.
func (c *Check) StopStarvationWatch() {
	if c.stopWatch != nil {
		c.stopWatch()
		c.stopWatch = nil
	}
}

// Judge returns the fault of the task's conditions and warnings, or nil if all
// hold.
func (c *Check) Judge() *Fault {
	c.measure()
	came := condition.All(c.Task, &c.Facts, c.Now(), c.Secrets.Hide)
	c.Result.Conditions = came.Results
	if came.Outcome == task.CheckOK {
		return nil
	}
	return &Fault{Outcome: came.Outcome, Code: came.Code, Text: came.Message}
}

// end fills the result.
func (c *Check) end(ctx context.Context, f *Fault) task.CheckResult {
	c.measure()
	c.Result.Outcome = task.CheckOK
	f = c.lateFault(f)
	c.net.hosts.note(c.Task, f != nil && f.Code == task.CodeLate)
	if f != nil {
		if cut := CutShort(ctx); cut != nil && f.Outcome != task.CheckDegraded {
			f = Ours(task.CodeLost, "the check was cut short: %s", cut)
		}
		c.Result.Outcome, c.Result.Code, c.Result.Message = f.Outcome, f.Code, c.Clean(f.Text)
		if c.Snapshot != nil {
			c.Result.Snapshot = c.Snapshot()
		}
	}
	c.Result.CertEnd = c.Facts.CertEnd
	return c.Result
}

// Clean makes a text fit to be shown.
func (c *Check) Clean(text string) string {
	text, _ = core.CleanText(c.Secrets.Hide(text), task.MaxCheckMessage)
	return text
}

// lateFault turns a timeout into a fault of the worker if the check waited half of the
// time for its turn.
func (c *Check) lateFault(f *Fault) *Fault {
	if f == nil || f.Outcome != task.CheckFail || 2*c.clock.waited() < c.Budget || c.Budget == 0 {
		return f
	}
	switch f.Code {
	case task.CodeTimeout, task.CodeDNSTimeout, task.CodeConnectTimeout, task.CodeTLSTimeout, task.CodeFirstByte, task.CodeBodyTimeout, task.CodeLoss:
		return Ours(task.CodeLate, "the check waited %s of its %s for its turn, and then: %s", Short(c.clock.waited()), Short(c.Budget), f.Text)
	}
	return f
}

// CutShort returns why a check was ended before its deadline, or nil.
func CutShort(ctx context.Context) error {
	if ctx.Err() == nil || timedOut(ctx) {
		return nil
	}
	return context.Cause(ctx)
}

// timedOut reports whether the context's own deadline has passed.
func timedOut(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, worker.ErrTimeout) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, os.ErrDeadlineExceeded)
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest body whose memory is reused, in bytes.
const maxPooled = 256 << 10

// Buffer returns the buffer for the body of the answer.
func (c *Check) Buffer() *bytes.Buffer {
	if c.body == nil {
		c.body = bodies.Get().(*bytes.Buffer)
	}
	c.body.Reset()
	return c.body
}

// Free releases the memory of the body, which must no longer be used.
func (c *Check) Free() {
	if c.body != nil && c.body.Cap() <= maxPooled {
		bodies.Put(c.body)
	}
	c.body, c.Facts.Body = nil, nil
}

// Short formats a duration for people.
func Short(d time.Duration) string {
	switch {
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(100 * time.Microsecond)
	default:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}
