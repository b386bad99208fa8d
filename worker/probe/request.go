package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
)

// request is what the task asks for. What it says itself stands; beside that
// the server of a job learns which job asks, with a key that is the same on
// every attempt, so that it can tell a retry from a new request. A check says
// no more than who asks.
func (l *look) request(h *belfry.HTTP) (*http.Request, error) {
	body, isInput := l.bodyOf(h)
	method := h.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(context.Background(), method, h.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	setBody(req, body)
	req.Header.Set("User-Agent", l.e.agent)
	if l.run != nil {
		setOwnHeaders(req.Header, *l.run)
	}
	if isInput {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	switch a := h.Auth; {
	case a == nil:
	case a.Bearer != "":
		req.Header.Set("Authorization", "Bearer "+string(a.Bearer))
	case a.User != "" || a.Password != "":
		req.SetBasicAuth(a.User, string(a.Password))
		_, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		l.secrets.add(token)
	}
	return req, nil
}

func (l *look) bodyOf(h *belfry.HTTP) (body string, isInput bool) {
	if h.Body != "" {
		return h.Body, false
	}
	input := l.task.Input
	if l.run != nil {
		input = l.run.Input()
	}
	switch h.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return string(input), len(input) > 0
	}
	return "", false
}

func setOwnHeaders(to http.Header, r worker.Run) {
	to.Set("Belfry-Job", strconv.FormatInt(r.Job.ID, 10))
	to.Set("Belfry-Attempt", strconv.Itoa(r.Job.Attempt))
	to.Set("Belfry-Task", r.Job.Task)
	to.Set("Idempotency-Key", r.Key())
	if !r.Job.Nominal.IsZero() {
		to.Set("Belfry-Nominal-Time", r.Job.Nominal.UTC().Format(time.RFC3339Nano))
	}
}

// harmless headers follow a redirect to another host. Everything else that the
// task set may be a secret, whatever its name.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "Content-Type": true, "User-Agent": true,
	"Belfry-Job": true, "Belfry-Attempt": true, "Belfry-Task": true, "Belfry-Nominal-Time": true, "Idempotency-Key": true,
	"Referer": false, // may carry the query of the page before
}

func keepHarmless(h http.Header) {
	for name := range h {
		if !harmless[name] {
			h.Del(name)
		}
	}
}

// hostPort is where a URL leads, with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "wss": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// reason is the text of an error without the URL that net/http puts before it,
// and without queries inside.
func reason(err error) string {
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no end within the timeout"
	}
	return redactText(err.Error())
}
