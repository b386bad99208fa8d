// Package page looks at pages and says what they show: jobs of kind page.
//
// A look has two halves. The first fetches the document, through the guarded
// dialer on every hop, cold, within the attempt's deadline and the task's cap
// on the body, which counts after decompression. The second makes a text of
// it that can be compared with an earlier one: pure, versioned, and bounded in
// memory and time whatever the document is. What the text is compared with,
// and what a difference means, is not decided here.
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
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/worker"
	"github.com/belfry-run/belfry/worker/probe/condition"
)

// Options of an executor. The zero value reaches the public internet only.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Version is what the User-Agent says. Default: "dev".
	Version string
}

// Executor implements [worker.Executor] for kind page.
type Executor struct {
	fetcher fetcher
	close   func()
	reading chan struct{}
}

// New makes an executor.
func New(o Options) *Executor {
	if o.Version == "" {
		o.Version = "dev"
	}
	h := newHTTPFetcher(o.Guard, "Belfry/"+o.Version)
	e := &Executor{fetcher: h, close: h.transport.CloseIdleConnections}
	e.reading = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	return e
}

// Close lets connections go.
func (e *Executor) Close() { e.close() }

// Execute looks at the page of the attempt's task. Of a monitor's check the
// end is what was seen; of any other job, whether the page could be read, and
// its text.
func (e *Executor) Execute(ctx context.Context, r worker.Run) belfry.Finish {
	if r.Task.Page == nil {
		return r.Refused("task %q has no page", r.Task.Name)
	}
	m := e.Measure(ctx, r.Task)
	_, _ = fmt.Fprintf(r.Log, "GET %s: %s in %s\n", shownURL(r.Task.Page.URL), summary(m), m.Latency.D().Round(time.Millisecond))
	cause := context.Cause(ctx)
	if ctx.Err() != nil && !errors.Is(cause, worker.ErrTimeout) && !errors.Is(cause, context.DeadlineExceeded) {
		return r.Failed("%s", cause) // ended by us: nothing was seen
	}
	if r.Job.Trigger == belfry.TriggerCheck {
		return belfry.Finish{Ref: r.Ref(), Outcome: belfry.OutcomeOK, Check: &m}
	}
	if m.Outcome != belfry.CheckOK && m.Outcome != belfry.CheckDegraded {
		f := r.Failed("%s", m.Message)
		f.NoRetry = m.Outcome == belfry.CheckError && (m.Code == belfry.CodeConfig || m.Code == belfry.CodeBlocked)
		return f
	}
	return belfry.Finish{Ref: r.Ref(), Outcome: belfry.OutcomeOK, Output: output(m.Page)}
}

func summary(m belfry.Measure) string {
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

func output(p *belfry.PageSeen) json.RawMessage {
	text, cut := belfry.CleanText(p.Text, keptText)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // markup would grow sixfold
	_ = enc.Encode(struct {
		Outcome belfry.PageOutcome `json:"outcome"`
		Digest  string             `json:"digest"`
		Matches int                `json:"matches"`
		Text    string             `json:"text"`
		Cut     bool               `json:"cut,omitempty"`
	}{p.Outcome, p.Digest, p.Matches, text, cut || p.Cut})
	return bytes.TrimSpace(b.Bytes())
}

// Measure looks at the page once.
func (e *Executor) Measure(ctx context.Context, t belfry.Task) belfry.Measure {
	m, _, _ := e.look(ctx, t)
	return m
}

// look also gives the reading, for a preview.
func (e *Executor) look(ctx context.Context, t belfry.Task) (m belfry.Measure, out reading, ok bool) {
	t = t.WithDefaults()
	if t.Page == nil {
		return belfry.Measure{Outcome: belfry.CheckError, Code: belfry.CodeConfig, Message: "the task has no page"}, out, false
	}
	r, faults := compile(*t.Page)
	if len(faults) > 0 {
		return belfry.Measure{Outcome: belfry.CheckError, Code: belfry.CodeConfig, Message: faults[0].String()}, out, false
	}
	f, err := e.fetcher.fetch(ctx, *t.Page)
	m = f.measure()
	secret := secretsOf(*t.Page)
	defer func() { m.Message, _ = belfry.CleanText(secret.hide(m.Message), belfry.MaxCheckMessage) }()
	if err == nil && (f.status < 200 || f.status > 299) {
		err = failing(belfry.CodeStatus, "the page answered %d %s", f.status, http.StatusText(f.status))
	}
	if err == nil {
		if out, err = e.read(ctx, r, f); err == nil {
			m.Page, err = &out.seen, out.fault()
		}
	}
	if err != nil {
		blame(ctx, &m, err)
		m.Snapshot = f.snapshot(secret)
		return m, out, m.Page != nil
	}
	m.Outcome = belfry.CheckOK
	came := condition.All(t, &condition.Facts{
		Latency: m.Latency.D(), Phases: m.Phases, IP: m.IP, Status: m.Status, Header: f.header, Body: f.body, Redirects: max(0, len(f.hops)-1),
		FinalURL: f.url, CertEnd: m.CertEnd, Text: out.seen.Text, Elements: out.seen.Matches,
	}, time.Now(), secret.hide)
	m.Outcome, m.Code, m.Message, m.Conditions = came.Outcome, came.Code, came.Message, came.Results
	if m.Outcome != belfry.CheckOK {
		m.Snapshot = f.snapshot(secret)
	}
	return m, out, true
}

// readingTime is how long making a text of a document may take. The largest
// documents there are need a second or two; what needs more was made to.
const readingTime = 15 * time.Second

// read waits for its turn: a document in memory takes many times its size, so
// only as many as there are processors are read at once.
func (e *Executor) read(ctx context.Context, r *rules, f fetched) (reading, error) {
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return reading{}, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, readingTime)
	defer cancel()
	out, err := r.read(limited, content{body: f.body, kind: f.header.Get("Content-Type")})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = tooComplex{fmt.Errorf("the document takes longer than %s to read", readingTime)}
	}
	return out, err
}

// fault is what a text means for the page by itself.
func (out reading) fault() error {
	switch {
	case out.seen.Outcome == belfry.PageSelectorMissing && out.why != "":
		return failing(belfry.CodeSelectorMissing, "the selector finds nothing: %s", out.why)
	case out.seen.Outcome == belfry.PageSelectorMissing:
		return failing(belfry.CodeSelectorMissing, "the selector finds nothing on the page")
	case out.seen.Outcome == belfry.PageEmpty:
		return failing(belfry.CodeEmpty, "the page has no text where it is looked at")
	}
	return nil
}
