package probe

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/app/worker/probe/condition"
	"github.com/belfry-run/belfry/task"
)

// http looks at a target of kind http.
func (l *look) http(ctx context.Context) *reach.Fault {
	want, err := l.e.expectation(l.Task.HTTP)
	if err != nil {
		return reach.Misconfigured("http", err)
	}
	a, f := l.ask(ctx)
	if f != nil {
		return f
	}
	l.Answered = true
	return want.fault(a, l.Task)
}

// fault is nil for an answer that is as expected, and whose body can be read if that matters.
func (w expectation) fault(a reach.Answer, t task.Task) *reach.Fault {
	f := w.status(a)
	switch {
	case f != nil:
		return f
	case a.Encoded != "" && len(a.Body) > 0 && (w.body != nil || judgesBy(t, "body", "json", "jq")):
		return a.Unreadable()
	case w.body != nil && !w.body.Match(a.Text):
		return reach.Failing(task.CodeAssertion, "expected a body that matches %q, got %d bytes", w.body, len(a.Body))
	}
	return nil
}

// judgesBy reports whether some condition reads one of these variables. A warning may, and is judged on what there is.
func judgesBy(t task.Task, names ...string) bool {
	return slices.ContainsFunc(t.Conditions, func(text string) bool {
		p, err := condition.Get(t.Kind, text)
		return err == nil && slices.ContainsFunc(names, p.Uses)
	})
}

// ask makes the task's request. Nothing that it sends as a secret is kept when
// it comes back.
func (l *look) ask(ctx context.Context) (reach.Answer, *reach.Fault) {
	h := l.Task.HTTP
	l.Secrets.AddHeaders(h.Headers)
	l.Secrets.AddURL(h.URL)
	isJob := l.run != nil
	what := reach.Fetch{
		MaxBody: h.MaxBody, MaxRedirects: h.MaxRedirects, Job: isJob,
		Route: reach.Route{
			Warm: h.KeepAlive || isJob, Racing: isJob, Family: h.Family, Proxy: h.Proxy, ServerName: h.ServerName, SkipVerify: h.SkipVerify, CA: h.CA,
		},
	}
	if a := h.Auth; a != nil {
		l.Secrets.Add(string(a.Password), string(a.Bearer), string(a.Key))
		what.Route.Cert, what.Route.Key = a.Cert, string(a.Key)
	}
	var err error
	if what.Request, err = l.request(h); err != nil {
		return reach.Answer{}, reach.Misconfigured("http.url", errors.New(reach.RedactText(err.Error())))
	}
	return l.Fetch(ctx, what)
}

// pattern is a compiled regular expression.
type pattern = regexp.Regexp

func (e *Executor) pattern(text string) (*pattern, error) {
	return e.patterns.Get(text, func() (*pattern, error) { return regexp.Compile(text) })
}

// optional is a compiled expression, or nil for none.
func (e *Executor) optional(text string) (*pattern, error) {
	if text == "" {
		return nil, nil
	}
	return e.pattern(text)
}

// expectation is what the task wants of an answer.
type expectation struct {
	texts []string
	codes []task.StatusRange
	body  *pattern // nil: anything
}

func (e *Executor) expectation(h *task.HTTP) (w expectation, err error) {
	w.texts = h.ExpectStatus
	if len(w.texts) == 0 {
		w.texts = []string{"200-299"}
	}
	if w.codes, err = task.ParseStatusRanges(w.texts); err != nil {
		return w, err
	}
	w.body, err = e.optional(h.ExpectBody)
	return w, err
}

// status is nil for an answer with a status that is expected.
func (w expectation) status(a reach.Answer) *reach.Fault {
	if !slices.ContainsFunc(w.codes, func(s task.StatusRange) bool { return a.Status >= s.From && a.Status <= s.To }) {
		return reach.Failing(task.CodeStatus, "expected status %s, got %d %s", strings.Join(w.texts, ", "), a.Status, http.StatusText(a.Status))
	}
	return nil
}
