// Package page runs jobs of kind page: it fetches a page and extracts its text.
//
// A check has two parts. The first fetches the document like an HTTP check, see
// package probe: through the guarded dialer on every hop, with a new connection,
// to one address of the host, with a limit of concurrent checks at a host, within
// the deadline and the task's limit on the body. Unlike there, cookies are kept
// from hop to hop. The second extracts a text that can be compared with an
// earlier one. It is pure and versioned, and limited in memory and time for any
// document. Other packages compare texts and decide what a difference means.
//
// If a page cannot be fetched, is missing, or lacks the selected part, that is a
// fault of the page. If it may not be reached, or its selector cannot be applied,
// that is a fault of the worker or the settings, and never counts against the
// page.
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
	// Guard sets the allowed addresses.
	Guard guard.Options
	// Version is the version in the User-Agent. Default: "dev".
	Version string
	// PerHost is the number of concurrent checks at one host and port; more wait
	// for their turn. Default: 4.
	PerHost int
}

// Executor implements [worker.Executor] for kind page.
type Executor struct {
	net     *reach.Net
	reading chan struct{}
}

// New returns an executor.
func New(o Options) *Executor {
	return over(reach.New(reach.Options{Guard: o.Guard, Version: o.Version, PerHost: o.PerHost}))
}

func over(n *reach.Net) *Executor {
	return &Executor{net: n, reading: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Close closes idle connections.
func (e *Executor) Close() { e.net.Close() }

// Execute fetches the page of the attempt's task. The result of a monitor's check
// is its check result. Another job succeeds if the page could be read, and
// returns its text.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	e.net.Follow(r.Now())
	if r.Task.Page == nil {
		return r.Refused("task %q has no page", r.Task.Name)
	}
	m := e.Check(ctx, *r.Task)
	_, _ = fmt.Fprintf(r.Log, "GET %s: %s in %s\n", reach.RedactAddress(r.Task.Page.URL), summary(m), m.Latency.D().Round(time.Millisecond))
	if cut := reach.CutShort(ctx); cut != nil {
		return r.Failed("%s", cut) // the worker ended the check, without a result
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

// keptText limits the text in the output of a job, in bytes.
const keptText = 256 << 10

func output(p *task.PageSeen) json.RawMessage {
	text, cut := core.CleanText(p.Text, keptText)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // escapes would make markup six times larger
	_ = enc.Encode(struct {
		Outcome task.PageOutcome `json:"outcome"`
		Digest  string           `json:"digest"`
		Matches int              `json:"matches"`
		Text    string           `json:"text"`
		Cut     bool             `json:"cut,omitempty"`
	}{p.Outcome, p.Digest, p.Matches, text, cut || p.Cut})
	return bytes.TrimSpace(b.Bytes())
}

// Check fetches and evaluates the page once.
func (e *Executor) Check(ctx context.Context, t task.Task) task.CheckResult {
	m, _, _ := e.look(ctx, t)
	return m
}

// look is Check, and also returns the reading for a preview.
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
		l.StopStarvationWatch()
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

// readingTime is the time limit to extract the text of a document. The largest
// real documents need a second or two; one that needs more is built to do so.
const readingTime = 15 * time.Second

// read extracts the text of a document when it is its turn. A parsed document
// takes many times its size in memory, so only one is read for each CPU.
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
