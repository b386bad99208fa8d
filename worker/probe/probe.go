// Package probe runs jobs of kind http: one request, judged by its answer.
//
// Every connection goes through the guarded dialer, those of redirects too.
// The whole exchange, from the name's resolution to the last byte of the body,
// has the attempt's deadline; a server that drips one byte a minute does not
// outlast it. A body is read up to the task's cap, counted after
// decompression. Header values, query values and passwords of URLs do not
// appear in logs, errors and outputs.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/worker"
)

// Options of an executor. The zero value reaches the public internet only.
type Options struct {
	// Guard says what may be reached.
	Guard guard.Options
	// Version is what the User-Agent says. Default: "dev".
	Version string
}

// Executor implements [worker.Executor] for kind http.
type Executor struct {
	transport *http.Transport
	agent     string
}

// New makes an executor.
func New(o Options) *Executor {
	if o.Version == "" {
		o.Version = "dev"
	}
	return &Executor{transport: guard.Transport(o.Guard), agent: "Belfry/" + o.Version}
}

// Close lets idle connections go.
func (e *Executor) Close() { e.transport.CloseIdleConnections() }

// Execute sends the request of the attempt's task and judges the answer.
func (e *Executor) Execute(ctx context.Context, r worker.Run) belfry.Finish {
	h := r.Task.HTTP
	if h == nil {
		return r.Refused("task %q has no request", r.Task.Name)
	}
	want, err := newExpectation(h)
	if err != nil {
		return r.Refused("%s", err)
	}
	req, err := e.request(ctx, r, h)
	if err != nil {
		return r.Refused("%s", redactText(err.Error()))
	}
	a, err := e.exchange(req, h)
	logAnswer(r, req, a, err)
	if err != nil {
		return failed(r, a, err)
	}
	f := belfry.Finish{Ref: r.Ref(), Outcome: belfry.OutcomeOK, Output: a.output(h)}
	if fault := want.fault(a); fault != "" {
		f.Outcome, f.Error = belfry.OutcomeError, fmt.Sprintf("%s %s: %s", h.Method, a.url, fault)
	}
	return f
}

// answer is what came back.
type answer struct {
	url    string // the last one asked, fit to be shown
	moved  bool   // it is not the first one
	status int
	body   []byte
	took   time.Duration
	stage  string // what was being done, for errors
}

func (e *Executor) exchange(req *http.Request, h *belfry.HTTP) (a answer, err error) {
	begun := time.Now()
	defer func() { a.took = time.Since(begun) }()
	a.url, a.stage = redactURL(req.URL), "waiting for the answer"
	client := http.Client{Transport: e.transport, CheckRedirect: redirects(h.MaxRedirects)}
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	a.status, a.stage = resp.StatusCode, "reading the body"
	a.moved = resp.Request.URL.String() != req.URL.String()
	a.url = redactURL(resp.Request.URL)
	limit := or(h.MaxBody, belfry.DefaultOutputLimit)
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err == nil && len(a.body) > limit {
		err = fmt.Errorf("the body is over the limit of %d bytes (max_body)", limit)
	}
	return a, err
}

// failed says why there is no answer to judge.
func failed(r worker.Run, a answer, err error) belfry.Finish {
	f := r.Failed("%s %s: %s: %s", r.Task.HTTP.Method, a.url, a.stage, reason(err))
	f.NoRetry = errors.As(err, new(*guard.Denied))
	if a.stage == "reading the body" {
		f.Error += fmt.Sprintf(" (status %d, %d bytes came)", a.status, len(a.body))
	}
	return f
}

func logAnswer(r worker.Run, req *http.Request, a answer, err error) {
	came := fmt.Sprintf("%d %s, %d bytes", a.status, http.StatusText(a.status), len(a.body))
	if err != nil {
		came = reason(err)
	}
	_, _ = fmt.Fprintf(r.Log, "%s %s: %s in %s\n", req.Method, a.url, came, a.took.Round(time.Millisecond))
}

// expectation is what the task wants of an answer.
type expectation struct {
	texts  []string
	status []belfry.StatusRange
	body   *regexp.Regexp // nil: anything
}

func newExpectation(h *belfry.HTTP) (w expectation, err error) {
	w.texts = h.ExpectStatus
	if len(w.texts) == 0 {
		w.texts = []string{"200-299"}
	}
	if w.status, err = belfry.ParseStatusRanges(w.texts); err != nil || h.ExpectBody == "" {
		return w, err
	}
	w.body, err = regexp.Compile(h.ExpectBody)
	return w, err
}

// shownBody is how much of a body a fault repeats, in bytes.
const shownBody = 200

// fault is empty for an answer that is as expected.
func (w expectation) fault(a answer) string {
	fits := func(s belfry.StatusRange) bool { return a.status >= s.From && a.status <= s.To }
	switch {
	case !slices.ContainsFunc(w.status, fits):
		return fmt.Sprintf("expected status %s, got %d %s%s", strings.Join(w.texts, ", "), a.status, http.StatusText(a.status), saying(a.body))
	case w.body != nil && !w.body.Match(a.body):
		return fmt.Sprintf("expected a body that matches %q, got %d bytes%s", w.body, len(a.body), saying(a.body))
	}
	return ""
}

func saying(body []byte) string {
	text, cut := belfry.CleanText(string(body[:min(len(body), 4*shownBody)]), shownBody)
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if cut {
		text += "…"
	}
	return fmt.Sprintf(" saying %q", text)
}

// output is the value of a job of kind http.
type output struct {
	Status     int    `json:"status"`
	DurationMS int64  `json:"duration_ms"`
	Bytes      int    `json:"bytes"`
	Body       string `json:"body,omitempty"`
	BodyCut    bool   `json:"body_cut,omitempty"`
	FinalURL   string `json:"final_url,omitempty"`
}

func (a answer) output(h *belfry.HTTP) json.RawMessage {
	o := output{Status: a.status, DurationMS: a.took.Milliseconds(), Bytes: len(a.body)}
	if a.moved {
		o.FinalURL = a.url
	}
	keep := max(0, or(h.KeepBodyBytes, belfry.DefaultKeepBody))
	o.Body, o.BodyCut = belfry.CleanText(string(a.body), keep)
	b, _ := json.Marshal(o)
	for len(b) > belfry.MaxOutput { // control characters take six bytes each in JSON
		keep /= 2
		o.Body, o.BodyCut = belfry.CleanText(o.Body, keep)
		b, _ = json.Marshal(o)
	}
	return b
}

func or(given, fallback int) int {
	if given == 0 {
		return fallback
	}
	return given
}
