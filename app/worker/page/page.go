// Package page looks at pages and says what they show: jobs of kind page.
//
// A look has two halves. The first fetches the document as a check of HTTP
// does, see package probe: through the guarded dialer on every hop, cold, one
// address of the host and so many looks at a host at once, within the deadline
// and the task's cap on the body. Here alone cookies are kept from hop to hop.
// The second makes a text of
// it that can be compared with an earlier one: pure, versioned, and bounded in
// memory and time whatever the document is. The text it is compared with,
// and the meaning of a difference, are not decided here.
//
// A page that cannot be fetched, is not there or has lost what is looked for
// is the page's fault. One that is fine and still cannot be read, because it
// may not be reached or because its selector cannot be applied to it, is ours,
// and never counts against the page.
package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Options of an executor. The zero value reaches the public internet only.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Version is what the User-Agent says. Default: "dev".
	Version string
	// PerHost is how many looks are at one host and port at once; more wait
	// for their turn. Default: 4.
	PerHost int
}

// Executor implements [worker.Executor] for kind page.
type Executor struct {
	net     *reach.Net
	reading chan struct{}
}

// New makes an executor.
func New(o Options) *Executor {
	return over(reach.New(reach.Options{Guard: o.Guard, Version: o.Version, PerHost: o.PerHost}))
}

func over(n *reach.Net) *Executor {
	return &Executor{net: n, reading: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Close lets connections go.
func (e *Executor) Close() { e.net.Close() }

// Execute looks at the page of the attempt's task. Of a monitor's check the
// end is what was seen; of any other job, whether the page could be read, and
// its text.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	if r.Task.Page == nil {
		return r.Refused("task %q has no page", r.Task.Name)
	}
	m := e.Check(ctx, *r.Task)
	_, _ = fmt.Fprintf(r.Log, "GET %s: %s in %s\n", reach.RedactAddress(r.Task.Page.URL), summary(m), m.Latency.D().Round(time.Millisecond))
	if cut := reach.CutShort(ctx); cut != nil {
		return r.Failed("%s", cut) // ended by us: nothing was seen
	}
	if r.Job.Trigger == job.TriggerCheck {
		return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Check: &m}
	}
	if m.Outcome != task.CheckOK && m.Outcome != task.CheckDegraded {
		f := r.Failed("%s", m.Message)
		f.NoRetry = m.Code == task.CodeConfig || m.Code == task.CodeBlocked || m.Code == task.CodeRedirectBlocked
		return f
	}
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Output: output(m.Page)}
}

func summary(m task.CheckResult) string {
	switch {
	case m.Message != "":
		return m.Message
	case m.Page == nil:
		return string(m.Outcome)
	}
	return fmt.Sprintf("%d matches, %d bytes of text", m.Page.Matches, len(m.Page.Text))
}

// keptText is how much of the text the output of a job holds, in bytes.
const keptText = 256 << 10

func output(p *task.PageSeen) json.RawMessage {
	text, cut := core.CleanText(p.Text, keptText)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // markup would grow sixfold
	_ = enc.Encode(struct {
		Outcome task.PageOutcome `json:"outcome"`
		Digest  string           `json:"digest"`
		Matches int              `json:"matches"`
		Text    string           `json:"text"`
		Cut     bool             `json:"cut,omitempty"`
	}{p.Outcome, p.Digest, p.Matches, text, cut || p.Cut})
	return bytes.TrimSpace(b.Bytes())
}

// Check looks at the page once.
func (e *Executor) Check(ctx context.Context, t task.Task) task.CheckResult {
	m, _, _ := e.look(ctx, t)
	return m
}

// look also gives the reading, for a preview.
func (e *Executor) look(ctx context.Context, t task.Task) (m task.CheckResult, out reading, ok bool) {
	ctx, cancel := reach.Bounded(ctx, t)
	defer cancel()
	t = t.WithDefaults()
	if t.Page == nil {
		return task.CheckResult{Outcome: task.CheckError, Code: task.CodeConfig, Message: "the task has no page"}, out, false
	}
	r, faults := compile(*t.Page)
	if len(faults) > 0 {
		return task.CheckResult{Outcome: task.CheckError, Code: task.CodeConfig, Message: faults[0].String()}, out, false
	}
	l := e.net.Begin(ctx, t)
	defer l.Free()
	l.Secrets.Mark = string(core.Redacted)
	m = l.Run(ctx, func(ctx context.Context) *reach.Fault {
		a, f := fetch(ctx, l, e.net.Agent())
		l.Rest()
		if f != nil {
			return f
		}
		var err error
		if out, err = e.read(ctx, r, contentOf(a)); err != nil {
			return faultOf(ctx, err)
		}
		l.Result.Page = &out.seen
		l.Facts.Text, l.Facts.Elements = out.seen.Text, out.seen.Matches
		f = out.fault()
		l.Answered = f == nil
		return f
	})
	return m, out, m.Page != nil
}

// readingTime is how long making a text of a document may take. The largest
// documents there are need a second or two; what needs more was made to.
const readingTime = 15 * time.Second

// read waits for its turn: a document in memory takes many times its size, so
// only as many as there are processors are read at once.
func (e *Executor) read(ctx context.Context, r *rules, d content) (reading, error) {
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return reading{}, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, readingTime)
	defer cancel()
	out, err := r.read(limited, d)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = tooComplex{fmt.Errorf("the document takes longer than %s to read", readingTime)}
	}
	return out, err
}
