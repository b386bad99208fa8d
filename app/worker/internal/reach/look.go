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

// Look is one look at a target, under way. It is for one goroutine; only its
// trips are told things by others.
type Look struct {
	Task     task.Task // with its defaults
	Budget   time.Duration
	Result   task.CheckResult
	Facts    condition.Facts // what conditions may ask for
	Secrets  Secrets
	Answered bool                  // there is an answer that conditions can judge
	Mean     time.Duration         // of several requests that are one look; the latency, where it is set
	Snapshot func() *task.Snapshot // of the answer, when it is not as wanted; may be nil

	net   *Net
	began time.Time
	watch watch
	trips []*Trip
	rest  func()
	body  *bytes.Buffer // what Facts.Body stands in
}

// Begin begins a look at the target of a task, which has its defaults.
func (n *Net) Begin(ctx context.Context, t task.Task) *Look {
	l := &Look{Task: t, net: n, began: time.Now()}
	l.watch.start = l.began
	if deadline, bounded := ctx.Deadline(); bounded {
		l.Budget = deadline.Sub(l.began)
	}
	return l
}

// Bounded gives a context without an end the one of a task, which is as it was
// given: what it says itself, or else [task.DefaultCheckTimeout].
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

// Run looks, judges what came by the task's conditions, and is the result of
// it. A panic in here is our fault, and not the target's.
func (l *Look) Run(ctx context.Context, how func(context.Context) *Fault) (m task.CheckResult) {
	l.rest = l.net.pulse.watch(l.began, func() { l.Result.Starved = true })
	defer l.Rest()
	defer func() {
		if v := recover(); v != nil {
			m = task.CheckResult{Outcome: task.CheckError, Code: task.CodeInternal, Message: "the check ended in a panic: " + l.Clean(fmt.Sprint(v))}
		}
	}()
	f := how(ctx)
	if l.Answered {
		f = worse(f, l.Judge())
	}
	l.Rest()
	return l.end(ctx, f)
}

// Rest says that nothing is measured any more, when there is more to do with
// what came: the process may be short of time for that.
func (l *Look) Rest() {
	if l.rest != nil {
		l.rest()
		l.rest = nil
	}
}

// Judge is what the task's conditions and warnings come to, or nil when all
// hold.
func (l *Look) Judge() *Fault {
	l.tally()
	came := condition.All(l.Task, &l.Facts, time.Now(), l.Secrets.Hide)
	l.Result.Conditions = came.Results
	if came.Outcome == task.CheckOK {
		return nil
	}
	return &Fault{Outcome: came.Outcome, Code: came.Code, Text: came.Message}
}

// end fills the result.
func (l *Look) end(ctx context.Context, f *Fault) task.CheckResult {
	l.tally()
	l.Result.Outcome = task.CheckOK
	f = l.late(f)
	l.net.hosts.note(l.Task, f != nil && f.Code == task.CodeLate)
	if f != nil {
		if cut := CutShort(ctx); cut != nil && f.Outcome != task.CheckDegraded {
			f = Ours(task.CodeLost, "the check was cut short: %s", cut)
		}
		l.Result.Outcome, l.Result.Code, l.Result.Message = f.Outcome, f.Code, l.Clean(f.Text)
		if l.Snapshot != nil {
			l.Result.Snapshot = l.Snapshot()
		}
	}
	l.Result.CertEnd = l.Facts.CertEnd
	return l.Result
}

// Clean makes a text fit to be shown.
func (l *Look) Clean(text string) string {
	text, _ = core.CleanText(l.Secrets.Hide(text), task.MaxCheckMessage)
	return text
}

// late turns a timeout into our own fault when we took half of the time
// ourselves, waiting for the look's turn.
func (l *Look) late(f *Fault) *Fault {
	if f == nil || f.Outcome != task.CheckFail || 2*l.watch.waited() < l.Budget || l.Budget == 0 {
		return f
	}
	switch f.Code {
	case task.CodeTimeout, task.CodeDNSTimeout, task.CodeConnectTimeout, task.CodeTLSTimeout, task.CodeFirstByte, task.CodeBodyTimeout, task.CodeLoss:
		return Ours(task.CodeLate, "the check waited %s of its %s for its turn, and then: %s", Short(l.watch.waited()), Short(l.Budget), f.Text)
	}
	return f
}

// CutShort is why a check was ended before its time, or nil.
func CutShort(ctx context.Context) error {
	if ctx.Err() == nil || timedOut(ctx) {
		return nil
	}
	return context.Cause(ctx)
}

// timedOut reports that the context's own time is over.
func timedOut(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, worker.ErrTimeout) || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, os.ErrDeadlineExceeded)
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest body whose memory is kept for the next one.
const maxPooled = 256 << 10

// Buffer is where the answer's body goes.
func (l *Look) Buffer() *bytes.Buffer {
	if l.body == nil {
		l.body = bodies.Get().(*bytes.Buffer)
	}
	l.body.Reset()
	return l.body
}

// Free gives the body's memory back. Nothing may hold it any more.
func (l *Look) Free() {
	if l.body != nil && l.body.Cap() <= maxPooled {
		bodies.Put(l.body)
	}
	l.body, l.Facts.Body = nil, nil
}

// Short is a length of time for people.
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
