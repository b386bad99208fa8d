package reach

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"github.com/belfry-run/belfry/task"
)

// redirectState is the state of a fetch over its redirects.
type redirectState struct {
	first    *url.URL
	most     int             // negative: none is followed
	cookies  http.CookieJar  // of this fetch alone; nil until a target sets one
	seen     map[string]bool // nil: redirect loops are followed up to the limit
	hops     int
	leftHost bool // a redirect led to another host, or from https to http
}

// next returns the request to follow a redirect, or nil if the answer is none.
func (s *redirectState) next(req *http.Request, resp *http.Response) (*http.Request, *Fault) {
	to := resp.Header.Get("Location")
	if !redirects(resp.StatusCode) || to == "" || s.most < 0 {
		return nil, nil
	}
	u, err := req.URL.Parse(to)
	if err != nil {
		return nil, Failing(task.CodeProtocol, "redirect to something that is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, Failing(task.CodeProtocol, "redirect to %q is not followed", u.Scheme)
	}
	if u.Host == "" {
		return nil, Failing(task.CodeProtocol, "redirect to a URL without a host")
	}
	u.User = nil // a target must not set credentials
	next := follow(req, resp.StatusCode, u)
	if s.seen[s.key(next)] {
		return nil, Failing(task.CodeRedirectLoop, "the redirects lead in a circle, back to %s", RedactURL(u))
	}
	most := cmp.Or(s.most, task.DefaultMaxRedirects)
	if s.hops++; s.hops > most {
		return nil, Failing(task.CodeRedirectLimit, "stopped after %d redirects", most)
	}
	if !strings.EqualFold(u.Host, s.first.Host) || s.first.Scheme == "https" && u.Scheme != "https" {
		s.leftHost = true // stays set, also if a later hop leads back
	}
	if s.leftHost {
		removeSecretHeaders(next.Header)
		next.Host = ""
	}
	return next, nil
}

// key identifies requests that would get the same answer.
func (s *redirectState) key(req *http.Request) string {
	text := req.Method + " " + req.URL.String()
	for _, c := range s.cookiesFor(req.URL) {
		text += "\n" + c.String()
	}
	return text
}

func (s *redirectState) cookiesFor(u *url.URL) []*http.Cookie {
	if s.cookies == nil {
		return nil
	}
	return s.cookies.Cookies(u)
}

// withCookies returns the request with its context and its cookies, which are not
// copied to the next request.
func (s *redirectState) withCookies(ctx context.Context, req *http.Request) *http.Request {
	req = req.WithContext(ctx)
	if kept := s.cookiesFor(req.URL); len(kept) > 0 {
		req.Header = req.Header.Clone()
		for _, c := range kept {
			req.AddCookie(c)
		}
	}
	return req
}

func (s *redirectState) storeCookies(u *url.URL, cookies []*http.Cookie) {
	if len(cookies) == 0 {
		return
	}
	if s.cookies == nil {
		s.cookies, _ = cookiejar.New(nil)
	}
	s.cookies.SetCookies(u, cookies)
}

// recordRequest records a request, to detect loops.
func (s *redirectState) recordRequest(req *http.Request) {
	if s.seen != nil {
		s.seen[s.key(req)] = true
	}
}

// publicHeaders headers are not secret, and are sent to another host after a redirect.
// Any other header of a task may hold a secret.
var publicHeaders = map[string]bool{
	"Accept": true, "Accept-Language": true, "Cache-Control": true, "Content-Type": true, "Pragma": true, "User-Agent": true,
	"Belfry-Job": true, "Belfry-Attempt": true, "Belfry-Task": true, "Belfry-Nominal-Time": true, "Idempotency-Key": true,
	"Referer": false, // may carry the query of the page before
}

func removeSecretHeaders(h http.Header) {
	for name := range h {
		if !publicHeaders[name] {
			h.Del(name)
		}
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow returns the request for a redirect. As in browsers, only 307 and 308
// keep the body and a method other than GET or HEAD.
func follow(req *http.Request, status int, to *url.URL) *http.Request {
	next := req.Clone(req.Context())
	next.URL, next.Header = to, req.Header.Clone()
	next.Header.Del("Referer")
	if req.Host == req.URL.Host || to.Host != req.URL.Host {
		next.Host = "" // the task's Host header applies to its own host alone
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
	SetBody(next, body)
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

// SetBody sets a body that can be sent again.
func SetBody(req *http.Request, body string) {
	if body == "" {
		req.Body, req.ContentLength, req.GetBody = nil, 0, nil
		return
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
}
