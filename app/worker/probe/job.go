package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

// Execute checks the target of the attempt's task. A monitor's check succeeds
// with any result; another job fails if the result is not good.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	e.net.Follow(r.Now())
	switch {
	case r.Job.Trigger == job.TriggerCheck:
		return e.check(ctx, r)
	case r.Task.HTTP != nil || r.Job.Kind == task.KindHTTP:
		return e.request(ctx, r)
	}
	return e.job(ctx, r)
}

// check runs the check of a monitor. The attempt succeeds with any result,
// unless it was ended before its deadline.
func (e *Executor) check(ctx context.Context, r *worker.Run) job.Finish {
	t := *r.Task
	t.Input = r.Input()
	m := e.Check(ctx, t)
	if cut := reach.CutShort(ctx); cut != nil && m.Outcome == task.CheckError {
		return r.Failed("%s", cut)
	}
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Check: &m}
}

// job runs a job of a kind other than http.
func (e *Executor) job(ctx context.Context, r *worker.Run) job.Finish {
	t := *r.Task
	t.Input = r.Input()
	m := e.Check(ctx, t)
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK}
	shown := m
	shown.Snapshot, shown.Page = nil, nil
	f.Output, _ = json.Marshal(shown)
	_, _ = fmt.Fprintf(r.Log, "%s %s: %s %s in %s\n", t.Kind, m.IP, m.Outcome, m.Message, m.Latency.D().Round(time.Millisecond))
	if m.Outcome == task.CheckFail || m.Outcome == task.CheckError {
		f.Outcome, f.Error = job.OutcomeError, fmt.Sprintf("%s: %s", m.Code, m.Message)
		f.NoRetry = m.Code == task.CodeBlocked || m.Code == task.CodeRedirectBlocked || m.Code == task.CodeConfig || m.Code == task.CodeUnsupported
	}
	return f
}

// request runs a job of kind http that is not a check: its purpose is the
// request itself.
func (e *Executor) request(ctx context.Context, r *worker.Run) job.Finish {
	h := r.Task.HTTP
	if h == nil {
		return r.Refused("task %q has no request", r.Task.Name)
	}
	c := e.begin(ctx, *r.Task)
	defer c.Free()
	c.run = r
	want, err := e.expectation(h)
	if err != nil {
		return r.Refused("%s", err)
	}
	if redacts(c.Task) {
		f := r.Failed(noKey)
		f.Infra = true // another node may have the key
		return f
	}
	a, fault := c.ask(ctx)
	if fault != nil && a.Hops == 0 {
		return r.Refused("%s", reach.Reason(fault.Err))
	}
	logAnswer(c, h, a, fault)
	if fault != nil && a.Hops <= 1 && !a.Reading && worker.MachineFault(fault.Err) {
		return r.Unable(fault.Err) // the request was not sent
	}
	if fault != nil {
		return failed(c, a, fault)
	}
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Output: outputOf(c, a, h)}
	if wrong := c.wrong(want, a); wrong != "" {
		f.Outcome, f.Error = job.OutcomeError, fmt.Sprintf("%s %s: %s", h.Method, c.Secrets.Hide(a.URL), wrong)
	}
	return f
}

// wrong returns the fault of an answer, or "". Warnings apply to monitors alone.
func (c *check) wrong(want expectation, a reach.Answer) string {
	if f := want.fault(a, c.Task); f != nil {
		return f.Text + bodyExcerpt(c, a.Text)
	}
	if f := c.Judge(); f != nil && f.Outcome != task.CheckDegraded {
		return c.Clean(f.Text)
	}
	return ""
}

// failed returns the result of a job without a usable answer.
func failed(c *check, a reach.Answer, fault *reach.Fault) job.Finish {
	f := c.run.Failed("%s %s: %s: %s", c.Task.HTTP.Method, c.Secrets.Hide(a.URL), stageOf(a), c.Secrets.Hide(why(fault)))
	f.NoRetry = errors.As(fault.Err, new(*guard.Denied)) || fault.Code == task.CodeConfig
	if a.Reading {
		f.Error += fmt.Sprintf(" (status %d, %d bytes came)", a.Status, len(a.Body))
	}
	return f
}

// why returns the cause of a fault, in the words of the system if there are any.
func why(f *reach.Fault) string {
	if f.Err != nil {
		return reach.Reason(f.Err)
	}
	return f.Text
}

func stageOf(a reach.Answer) string {
	if a.Reading {
		return "reading the body"
	}
	return "waiting for the answer"
}

func logAnswer(c *check, h *task.HTTP, a reach.Answer, f *reach.Fault) {
	came := fmt.Sprintf("%d %s, %d bytes", a.Status, http.StatusText(a.Status), len(a.Body))
	if f != nil {
		came = why(f)
	}
	_, _ = fmt.Fprintf(c.run.Log, "%s %s: %s in %s\n", h.Method, c.Secrets.Hide(a.URL), c.Secrets.Hide(came), a.Took.Round(time.Millisecond))
}

// shownBody is how much of a body a fault repeats, in bytes.
const shownBody = 200

func bodyExcerpt(c *check, body []byte) string {
	text, cut := c.Secrets.Excerpt(body, shownBody)
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
	Encoded    string `json:"encoded,omitempty"` // replaces a body that could not be decoded
	FinalURL   string `json:"final_url,omitempty"`
}

func outputOf(c *check, a reach.Answer, h *task.HTTP) json.RawMessage {
	o := output{Status: a.Status, DurationMS: a.Took.Milliseconds(), Bytes: len(a.Body), Encoded: a.Encoded}
	if a.Moved {
		o.FinalURL = c.auth.Hide(a.URL)
	}
	keep := max(0, cmp.Or(h.KeepBodyBytes, task.DefaultKeepBody))
	o.Body, o.BodyCut = c.auth.Excerpt(a.Text, keep)
	b, _ := json.Marshal(o)
	for len(b) > core.MaxOutput { // in JSON, each control character takes six bytes
		keep /= 2
		o.Body, o.BodyCut = core.CleanText(o.Body, keep)
		b, _ = json.Marshal(o)
	}
	return b
}
