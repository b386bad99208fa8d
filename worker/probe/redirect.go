package probe

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry"
)

// journey is the way over redirects.
type journey struct {
	first *url.URL
	seen  map[string]bool // nil: circles are walked until the limit
	hops  int
	left  bool // another host was asked, or a secure way was left
}

// next is the request that an answer leads to, or nil when it leads nowhere.
// Cookies are not kept from hop to hop: a target that wants one before it lets
// anybody pass leads in a circle, and says so.
func (j *journey) next(req *http.Request, resp *http.Response, most int) (*http.Request, *fault) {
	to := resp.Header.Get("Location")
	if !redirects(resp.StatusCode) || to == "" || most < 0 {
		return nil, nil
	}
	u, err := req.URL.Parse(to)
	if err != nil {
		return nil, failing(belfry.CodeProtocol, "redirect to something that is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, failing(belfry.CodeProtocol, "redirect to %q is not followed", u.Scheme)
	}
	if u.Host == "" {
		return nil, failing(belfry.CodeProtocol, "redirect to a URL without a host")
	}
	u.User = nil // a target does not choose who we are
	next := follow(req, resp.StatusCode, u)
	if j.seen != nil && j.seen[key(next)] {
		return nil, failing(belfry.CodeRedirectLoop, "the redirects lead in a circle, back to %s (cookies are not kept)", redactURL(u))
	}
	if j.hops++; j.hops > or(most, belfry.DefaultMaxRedirects) {
		return nil, failing(belfry.CodeRedirectLimit, "stopped after %d redirects", or(most, belfry.DefaultMaxRedirects))
	}
	if !strings.EqualFold(u.Host, j.first.Host) || j.first.Scheme == "https" && u.Scheme != "https" {
		j.left = true // and so it stays, also if a later hop leads back
	}
	if j.left {
		keepHarmless(next.Header)
		next.Host = ""
	}
	return next, nil
}

func key(req *http.Request) string { return req.Method + " " + req.URL.String() }

// arrive notes a request, to know it again.
func (j *journey) arrive(req *http.Request) {
	if j.seen != nil {
		j.seen[key(req)] = true
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow is the same request elsewhere. As browsers do, only 307 and 308 keep
// a method that is not GET or HEAD, and the body with it.
func follow(req *http.Request, status int, to *url.URL) *http.Request {
	next := req.Clone(req.Context())
	next.URL, next.Header = to, req.Header.Clone()
	next.Header.Del("Referer")
	if req.Host == req.URL.Host || to.Host != req.URL.Host {
		next.Host = "" // the name that the task gave is for the host that it named
	}
	body := ""
	if status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect {
		if again, err := bodyAgain(req); err == nil {
			body = again
		}
	} else if req.Method != http.MethodHead {
		next.Method = http.MethodGet
	}
	if body == "" {
		next.Header.Del("Content-Type")
	}
	setBody(next, body)
	return next
}

func bodyAgain(req *http.Request) (string, error) {
	if req.GetBody == nil {
		return "", nil
	}
	body, err := req.GetBody()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(body)
	return string(text), err
}

func setBody(req *http.Request, body string) {
	if body == "" {
		req.Body, req.ContentLength, req.GetBody = nil, 0, nil
		return
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
}
