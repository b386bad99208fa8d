package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/worker"
)

// request is what the task asks for. What it says itself stands; beside that
// the server learns which job asks, with a key that is the same on every
// attempt, so that it can tell a retry from a new request.
func (e *Executor) request(ctx context.Context, r worker.Run, h *belfry.HTTP) (*http.Request, error) {
	body, isInput := bodyOf(r, h)
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	method := h.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, h.URL, reader)
	if err != nil {
		return nil, err
	}
	setOwnHeaders(req.Header, r, e.agent)
	if isInput {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

func bodyOf(r worker.Run, h *belfry.HTTP) (body string, isInput bool) {
	if h.Body != "" {
		return h.Body, false
	}
	switch h.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return string(r.Input()), len(r.Input()) > 0
	}
	return "", false
}

func setOwnHeaders(to http.Header, r worker.Run, agent string) {
	to.Set("User-Agent", agent)
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

// redirects follows at most that many. Each hop is dialed through the guard
// like the first.
func redirects(most int) func(*http.Request, []*http.Request) error {
	if most == 0 {
		most = belfry.DefaultMaxRedirects
	}
	return func(req *http.Request, via []*http.Request) error {
		if most < 0 {
			return http.ErrUseLastResponse
		}
		if len(via) > most {
			return fmt.Errorf("stopped after %d redirects", most)
		}
		if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
			return fmt.Errorf("redirect to %q is not followed", req.URL.Scheme)
		}
		req.Header.Del("Referer")
		if leftHost(via[0], append(via[1:], req)) {
			keepHarmless(req.Header)
		}
		return nil
	}
}

// leftHost reports that some hop went elsewhere than where the task pointed:
// another host or port, or from https to http. Once gone the headers stay
// gone, also if a later hop leads back.
func leftHost(first *http.Request, hops []*http.Request) bool {
	for _, hop := range hops {
		if hop.URL.Host != first.URL.Host || first.URL.Scheme == "https" && hop.URL.Scheme != "https" {
			return true
		}
	}
	return false
}

func keepHarmless(h http.Header) {
	for name := range h {
		if !harmless[name] {
			h.Del(name)
		}
	}
}

// redactURL shows where a request went without what may be secret in it.
func redactURL(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if shown.RawQuery == "" {
		return shown.String()
	}
	shown.RawQuery = ""
	return shown.String() + "?…"
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

// redactText cuts every query and password out of a text that may quote URLs.
func redactText(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if before, _, found := strings.Cut(word, "?"); found {
			words[i] = before + "?…"
		}
		if scheme, rest, found := strings.Cut(words[i], "://"); found {
			if _, host, found := strings.Cut(rest, "@"); found {
				words[i] = scheme + "://" + host
			}
		}
	}
	return strings.Join(words, " ")
}
