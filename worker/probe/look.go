package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/probe/condition"
)

// look is one check under way.
type look struct {
	e       *Executor
	task    belfry.Task // with its defaults
	began   time.Time
	budget  time.Duration // from the begin to the deadline
	watch   watch
	m       belfry.Measure
	facts   condition.Facts
	body    *bytes.Buffer // what facts.Body stands in
	secrets secrets
	run     *worker.Run // of a job that is no check

	answered bool // there is an answer that conditions can judge
	snapshot func() *belfry.Snapshot
}

func newLook(e *Executor, t belfry.Task, now time.Time) *look {
	l := &look{e: e, task: t, began: now}
	l.watch.start = now
	return l
}

// fault is why a check did not come to what was wanted.
type fault struct {
	outcome belfry.CheckOutcome
	code    belfry.CheckCode
	text    string
	err     error // what caused it, if anything did
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.err }

func failing(code belfry.CheckCode, format string, args ...any) *fault {
	return &fault{outcome: belfry.CheckFail, code: code, text: fmt.Sprintf(format, args...)}
}

// ours is a fault that says nothing of the target.
func ours(code belfry.CheckCode, format string, args ...any) *fault {
	return &fault{outcome: belfry.CheckError, code: code, text: fmt.Sprintf(format, args...)}
}

func degraded(code belfry.CheckCode, format string, args ...any) *fault {
	return &fault{outcome: belfry.CheckDegraded, code: code, text: fmt.Sprintf(format, args...)}
}

// worse is the worse of two faults; of equals the first.
func worse(a, b *fault) *fault {
	rank := map[belfry.CheckOutcome]int{belfry.CheckOK: 0, belfry.CheckDegraded: 1, belfry.CheckFail: 2, belfry.CheckError: 3}
	switch {
	case a == nil:
		return b
	case b == nil || rank[a.outcome] >= rank[b.outcome]:
		return a
	}
	return b
}

// measure looks and judges. A panic in here is our fault, and not the target's.
func (e *Executor) measure(ctx context.Context, l *look) (m belfry.Measure) {
	defer l.free()
	defer e.pulse.watch(l.began, func() { m.Starved = true })()
	defer func() {
		if v := recover(); v != nil {
			m = belfry.Measure{Outcome: belfry.CheckError, Code: belfry.CodeInternal, Message: "the check ended in a panic: " + l.clean(fmt.Sprint(v))}
		}
	}()
	if deadline, bounded := ctx.Deadline(); bounded {
		l.budget = deadline.Sub(l.began)
	}
	how := looks[l.task.Kind]
	if how == nil {
		return l.end(ctx, ours(belfry.CodeUnsupported, "kind %s is not a network check", l.task.Kind))
	}
	f := how(l, ctx)
	if l.answered {
		f = worse(f, l.judge())
	}
	return l.end(ctx, f)
}

// end fills the measure.
func (l *look) end(ctx context.Context, f *fault) belfry.Measure {
	l.m.Outcome = belfry.CheckOK
	if f = l.late(f); f != nil {
		if cut := cutShort(ctx); cut != nil && f.outcome != belfry.CheckDegraded {
			f = ours(belfry.CodeLost, "the check was cut short: %s", cut)
		}
		l.m.Outcome, l.m.Code, l.m.Message = f.outcome, f.code, l.clean(f.text)
		if l.snapshot != nil {
			l.m.Snapshot = l.snapshot()
		}
	}
	l.m.CertEnd = l.facts.CertEnd
	return l.m
}

// clean makes a text fit to be shown.
func (l *look) clean(text string) string {
	text, _ = belfry.CleanText(l.secrets.hide(text), belfry.MaxCheckMessage)
	return text
}

// late turns a timeout into our own fault when we took half of the time
// ourselves, waiting for the check's turn.
func (l *look) late(f *fault) *fault {
	if f == nil || f.outcome != belfry.CheckFail || 2*l.watch.waited() < l.budget || l.budget == 0 {
		return f
	}
	switch f.code {
	case belfry.CodeTimeout, belfry.CodeDNSTimeout, belfry.CodeConnectTimeout, belfry.CodeTLSTimeout, belfry.CodeFirstByte, belfry.CodeBodyTimeout, belfry.CodeLoss:
		return ours(belfry.CodeLate, "the check waited %s of its %s for its turn, and then: %s", short(l.watch.waited()), short(l.budget), f.text)
	}
	return f
}

// cutShort is why the check was ended before its time, or nil.
func cutShort(ctx context.Context) error {
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

// buffer is where the answer's body goes.
func (l *look) buffer() *bytes.Buffer {
	if l.body == nil {
		l.body = bodies.Get().(*bytes.Buffer)
	}
	l.body.Reset()
	return l.body
}

// free gives the body's memory back. Nothing may hold it any more.
func (l *look) free() {
	if l.body != nil && l.body.Cap() <= maxPooled {
		bodies.Put(l.body)
	}
	l.body, l.facts.Body = nil, nil
}

// short is a length of time for people.
func short(d time.Duration) string {
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
