package page

import (
	"context"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
)

// fetch fetches the document of a check.
func fetch(ctx context.Context, l *reach.Check, agent string) (reach.Answer, *reach.Fault) {
	g := l.Task.Page
	l.Secrets.AddHeaders(g.Headers)
	l.Secrets.AddURL(g.URL)
	req, err := request(g, agent)
	if err != nil {
		return reach.Answer{}, reach.Ours(task.CodeConfig, "the request cannot be made: %s", reach.Reason(err))
	}
	a, f := l.Fetch(ctx, reach.Fetch{Request: req, MaxBody: g.MaxBody})
	if a.Encoded != "" || isBinary(a) {
		shown := a
		shown.Body, shown.Text = nil, nil
		l.KeepAnswer(shown)
	}
	switch {
	case f != nil:
		return a, f
	case a.Encoded != "":
		return a, a.Unreadable()
	case a.Status < 200 || a.Status > 299:
		return a, reach.Failing(task.CodeStatus, "the page answered %d %s", a.Status, http.StatusText(a.Status))
	}
	return a, nil
}

func request(g *task.PageCheck, agent string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, g.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8")
	for name, value := range g.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Accept-Encoding": // set by the transport
		case "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// isBinary reports whether the body of an answer is not text.
func isBinary(a reach.Answer) bool {
	if len(a.Body) == 0 {
		return false
	}
	kind := mediaType(contentOf(a))
	return !strings.HasPrefix(kind, "text/") && !isHTML(kind) && !isJSON(kind) && !isXML(kind)
}

func contentOf(a reach.Answer) content {
	return content{body: a.Body, kind: a.Header.Get("Content-Type")}
}
