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

// journey is the way over redirects.
type journey struct {
	first   *url.URL
	most    int             // negative: none is followed
	cookies http.CookieJar  // of this journey alone; nil until a target sets one
	seen    map[string]bool // nil: circles are walked until the limit
	hops    int
	left    bool // another host was asked, or a secure way was left
}

// next is the request that an answer leads to, or nil when it leads nowhere.
func (j *journey) next(req *http.Request, resp *http.Response) (*http.Request, *Fault) {
	to := resp.Header.Get("Location")
	if !redirects(resp.StatusCode) || to == "" || j.most < 0 {
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
	u.User = nil // a target does not choose who we are
	next := follow(req, resp.StatusCode, u)
	if j.seen[j.key(next)] {
		return nil, Failing(task.CodeRedirectLoop, "the redirects lead in a circle, back to %s", RedactURL(u))
	}
	most := cmp.Or(j.most, task.DefaultMaxRedirects)
	if j.hops++; j.hops > most {
		return nil, Failing(task.CodeRedirectLimit, "stopped after %d redirects", most)
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

// key is the same for a request that would be answered the same.
func (j *journey) key(req *http.Request) string {
	text := req.Method + " " + req.URL.String()
	for _, c := range j.kept(req.URL) {
		text += "\n" + c.String()
	}
	return text
}

func (j *journey) kept(u *url.URL) []*http.Cookie {
	if j.cookies == nil {
		return nil
	}
	return j.cookies.Cookies(u)
}

// dressed is the request with its context and the cookies that are kept for
// it, which are not the next request's.
func (j *journey) dressed(ctx context.Context, req *http.Request) *http.Request {
	req = req.WithContext(ctx)
	if kept := j.kept(req.URL); len(kept) > 0 {
		req.Header = req.Header.Clone()
		for _, c := range kept {
			req.AddCookie(c)
		}
	}
	return req
}

func (j *journey) keep(u *url.URL, cookies []*http.Cookie) {
	if len(cookies) == 0 {
		return
	}
	if j.cookies == nil {
		j.cookies, _ = cookiejar.New(nil)
	}
	j.cookies.SetCookies(u, cookies)
}

// arrive notes a request, to know it again.
func (j *journey) arrive(req *http.Request) {
	if j.seen != nil {
		j.seen[j.key(req)] = true
	}
}

// harmless headers are no secrets, and follow a redirect to another host.
// Everything else that a task sets may be one, whatever its name.
var harmless = map[string]bool{
	"Accept": true, "Accept-Language": true, "Cache-Control": true, "Content-Type": true, "Pragma": true, "User-Agent": true,
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

// SetBody gives a request a body that can be sent again.
func SetBody(req *http.Request, body string) {
	if body == "" {
		req.Body, req.ContentLength, req.GetBody = nil, 0, nil
		return
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
}
