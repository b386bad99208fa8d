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

// Execute looks at the target of the attempt's task. A monitor's check reports
// what it saw, good or bad; any other job fails when that was not good.
func (e *Executor) Execute(ctx context.Context, r *worker.Run) job.Finish {
	switch {
	case r.Job.Trigger == job.TriggerCheck:
		return e.check(ctx, r)
	case r.Task.HTTP != nil || r.Job.Kind == task.KindHTTP:
		return e.request(ctx, r)
	}
	return e.job(ctx, r)
}

// check is an attempt that has succeeded, whatever it saw: its job was to look.
// One that was ended before its time has seen nothing.
func (e *Executor) check(ctx context.Context, r *worker.Run) job.Finish {
	t := *r.Task
	t.Input = r.Input()
	m := e.Check(ctx, t)
	if cut := reach.CutShort(ctx); cut != nil && m.Outcome == task.CheckError {
		return r.Failed("%s", cut)
	}
	return job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Check: &m}
}

// job is an attempt of a kind other than http.
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

// request is an attempt of kind http that is no check: it wants its request
// done.
func (e *Executor) request(ctx context.Context, r *worker.Run) job.Finish {
	h := r.Task.HTTP
	if h == nil {
		return r.Refused("task %q has no request", r.Task.Name)
	}
	l := e.begin(ctx, *r.Task)
	defer l.Free()
	l.run = r
	want, err := e.expectation(h)
	if err != nil {
		return r.Refused("%s", err)
	}
	a, fault := l.ask(ctx)
	if fault != nil && a.Hops == 0 {
		return r.Refused("%s", reach.Reason(fault.Err))
	}
	logAnswer(r, h, a, fault)
	if fault != nil && a.Hops <= 1 && !a.Reading && worker.MachineFault(fault.Err) {
		return r.Unable(fault.Err) // the request never left
	}
	if fault != nil {
		return failed(r, a, fault)
	}
	f := job.Finish{Ref: r.Ref(), Outcome: job.OutcomeOK, Output: outputOf(a, h)}
	if wrong := l.wrong(want, a); wrong != "" {
		f.Outcome, f.Error = job.OutcomeError, fmt.Sprintf("%s %s: %s", h.Method, a.URL, wrong)
	}
	return f
}

// wrong is empty for an answer that is as wanted. Warnings are for monitors.
func (l *look) wrong(want expectation, a reach.Answer) string {
	if f := want.fault(a, l.Task); f != nil {
		return f.Text + saying(a.Text)
	}
	if f := l.Judge(); f != nil && f.Outcome != task.CheckDegraded {
		return l.Clean(f.Text)
	}
	return ""
}

// failed says why there is no answer to judge.
func failed(r *worker.Run, a reach.Answer, fault *reach.Fault) job.Finish {
	f := r.Failed("%s %s: %s: %s", r.Task.HTTP.Method, a.URL, stageOf(a), why(fault))
	f.NoRetry = errors.As(fault.Err, new(*guard.Denied)) || fault.Code == task.CodeConfig
	if a.Reading {
		f.Error += fmt.Sprintf(" (status %d, %d bytes came)", a.Status, len(a.Body))
	}
	return f
}

// why is the fault's cause, in the words of the system where it has any.
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

func logAnswer(r *worker.Run, h *task.HTTP, a reach.Answer, f *reach.Fault) {
	came := fmt.Sprintf("%d %s, %d bytes", a.Status, http.StatusText(a.Status), len(a.Body))
	if f != nil {
		came = why(f)
	}
	_, _ = fmt.Fprintf(r.Log, "%s %s: %s in %s\n", h.Method, a.URL, came, a.Took.Round(time.Millisecond))
}

// shownBody is how much of a body a fault repeats, in bytes.
const shownBody = 200

func saying(body []byte) string {
	text, cut := core.CleanText(string(body[:min(len(body), 4*shownBody)]), shownBody)
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
	Encoded    string `json:"encoded,omitempty"` // in the place of a body that cannot be read
	FinalURL   string `json:"final_url,omitempty"`
}

func outputOf(a reach.Answer, h *task.HTTP) json.RawMessage {
	o := output{Status: a.Status, DurationMS: a.Took.Milliseconds(), Bytes: len(a.Body), Encoded: a.Encoded}
	if a.Moved {
		o.FinalURL = a.URL
	}
	keep := max(0, cmp.Or(h.KeepBodyBytes, task.DefaultKeepBody))
	o.Body, o.BodyCut = core.CleanText(string(a.Text), keep)
	b, _ := json.Marshal(o)
	for len(b) > core.MaxOutput { // control characters take six bytes each in JSON
		keep /= 2
		o.Body, o.BodyCut = core.CleanText(o.Body, keep)
		b, _ = json.Marshal(o)
	}
	return b
}
