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
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// http checks a target of kind http.
func (c *check) http(ctx context.Context) *reach.Fault {
	want, err := c.e.expectation(c.Task.HTTP)
	if err != nil {
		return reach.Misconfigured("http", err)
	}
	a, f := c.ask(ctx)
	if f != nil {
		return f
	}
	c.Answered = true
	return want.fault(a, c.Task)
}

// fault is nil for an expected answer, whose body was decoded if the task needs it.
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

// judgesBy reports whether a condition reads one of these variables. Warnings do not count.
func judgesBy(t task.Task, names ...string) bool {
	return slices.ContainsFunc(t.Conditions, func(text string) bool {
		p, err := condition.Get(t.Kind, text)
		return err == nil && slices.ContainsFunc(names, p.Uses)
	})
}

// ask sends the task's request. Its secrets are removed from the kept parts of
// the answer.
func (c *check) ask(ctx context.Context) (reach.Answer, *reach.Fault) {
	h := c.Task.HTTP
	c.Secrets.AddHeaders(h.Headers)
	c.Secrets.AddURL(h.URL)
	isJob := c.run != nil
	what := reach.Fetch{
		MaxBody: h.MaxBody, MaxRedirects: h.MaxRedirects, Job: isJob,
		Route: reach.Route{
			Warm: h.KeepAlive || isJob, Racing: isJob, Family: h.Family, Proxy: h.Proxy, ServerName: h.ServerName, SkipVerify: h.SkipVerify, CA: h.CA,
		},
	}
	if redacts(c.Task) {
		return reach.Answer{}, reach.Ours(task.CodeConfig, noKey)
	}
	if a := h.Auth; a != nil {
		addAuth(c, string(a.Password), string(a.Bearer), string(a.Key))
		what.Route.Cert, what.Route.Key = a.Cert, string(a.Key)
	}
	var err error
	if what.Request, err = c.request(h); err != nil {
		return reach.Answer{}, reach.Misconfigured("http.url", errors.New(reach.RedactText(err.Error())))
	}
	return c.Fetch(ctx, what)
}

// noKey is the fault of a task whose secrets were not opened. Their placeholder is sent nowhere: the target would refuse it, and
// seem to be down.
const noKey = "http.auth: its secrets cannot be opened by the node that gave out the job: see that its seal_key_file has the key that they were sealed with"

// redacts reports that a secret of the task is only its placeholder.
func redacts(t task.Task) bool {
	found := false
	t.MapSecrets(func(_ string, s core.Secret) core.Secret {
		found = found || s == core.Redacted
		return s
	})
	return found
}

// addAuth adds secrets of the task's auth.
func addAuth(c *check, texts ...string) {
	c.Secrets.Add(texts...)
	c.auth.Add(texts...)
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

// expectation is the expected answer of a task.
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

// status is nil for an answer with an expected status.
func (w expectation) status(a reach.Answer) *reach.Fault {
	if !slices.ContainsFunc(w.codes, func(s task.StatusRange) bool { return a.Status >= s.From && a.Status <= s.To }) {
		return reach.Failing(task.CodeStatus, "expected status %s, got %d %s", strings.Join(w.texts, ", "), a.Status, http.StatusText(a.Status))
	}
	return nil
}
