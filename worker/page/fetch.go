package page

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
)

// fetcher brings a document. Besides the one here, which speaks HTTP, there
// may be one that has a browser show the page.
type fetcher interface {
	fetch(ctx context.Context, g belfry.PageCheck) (fetched, error)
}

// fetched is what came, as far as it came.
type fetched struct {
	url     string // the last one, without secrets
	status  int
	header  http.Header
	body    []byte
	hops    []belfry.Hop
	phases  belfry.Phases
	took    time.Duration
	ip      string
	certEnd time.Time
}

func (f fetched) measure() belfry.Measure {
	m := belfry.Measure{Latency: belfry.Duration(f.took), Phases: f.phases, IP: f.ip, Status: f.status, CertEnd: f.certEnd}
	if len(f.hops) > 1 {
		m.Hops = f.hops
	}
	return m
}

// httpFetcher asks with GET and follows redirects itself, because each hop is
// measured, and because the headers of the task are for its host alone.
type httpFetcher struct {
	transport *http.Transport
	agent     string
}

func newHTTPFetcher(o guard.Options, agent string) *httpFetcher {
	t := guard.Transport(o)
	t.DisableKeepAlives = true // a cold connection is what a visitor meets
	return &httpFetcher{transport: t, agent: agent}
}

func (h *httpFetcher) fetch(ctx context.Context, g belfry.PageCheck) (f fetched, err error) {
	first, err := url.Parse(g.URL)
	if err != nil {
		return f, ours(belfry.CodeConfig, "the URL cannot be read")
	}
	jar, _ := cookiejar.New(nil) // of this look alone: some pages insist on one
	seen := map[string]bool{}
	begun := time.Now()
	defer func() { f.took = time.Since(begun) }()
	for at, left := first, false; ; {
		left = left || leaves(first, at)
		next, err := h.hop(ctx, g, at, left, jar, &f)
		if err != nil || next == nil {
			return f, err
		}
		state := next.String() + "\n" + cookieText(jar, next)
		switch {
		case seen[state]:
			return f, failing(belfry.CodeRedirectLoop, "the redirects go round in circles, at %s", shownURL(next.String()))
		case len(f.hops) > belfry.DefaultMaxRedirects:
			return f, failing(belfry.CodeRedirectLimit, "there are more than %d redirects", belfry.DefaultMaxRedirects)
		case next.Scheme != "http" && next.Scheme != "https":
			return f, failing(belfry.CodeProtocol, "a redirect leads to scheme %q", next.Scheme)
		}
		seen[state] = true
		at = next
	}
}

func cookieText(jar http.CookieJar, u *url.URL) string {
	var b strings.Builder
	for _, c := range jar.Cookies(u) {
		b.WriteString(c.String() + ";")
	}
	return b.String()
}

// leaves reports that a hop goes elsewhere than where the task pointed. What
// may be a secret then stays behind, also when a later hop leads back.
func leaves(first, at *url.URL) bool {
	return at.Host != first.Host || first.Scheme == "https" && at.Scheme != "https"
}

// hop does one request. Next is where it leads on to, if it does.
func (h *httpFetcher) hop(ctx context.Context, g belfry.PageCheck, at *url.URL, left bool, jar http.CookieJar, f *fetched) (next *url.URL, err error) {
	t := newTrip()
	f.url, f.status, f.header, f.body = shownURL(at.String()), 0, nil, nil
	defer func() { f.add(t, at) }()
	req, err := h.request(t.context(ctx), g, at, left)
	if err != nil {
		return nil, ours(belfry.CodeConfig, "the request cannot be made: %s", plainReason(err))
	}
	for _, c := range jar.Cookies(at) {
		req.AddCookie(c)
	}
	resp, err := h.transport.RoundTrip(req)
	if err != nil {
		return nil, netFault(ctx, err, min(t.at(), waiting)) // the headers are part of what is waited for
	}
	defer func() { _ = resp.Body.Close() }()
	t.enter(receiving)
	jar.SetCookies(at, resp.Cookies())
	f.status, f.header, f.certEnd = resp.StatusCode, resp.Header, certEnd(resp.TLS)
	if next, err := leadsOn(resp, at); next != nil || err != nil {
		return next, err
	}
	return nil, f.read(ctx, resp, g.MaxBody)
}

func (h *httpFetcher) request(ctx context.Context, g belfry.PageCheck, at *url.URL, left bool) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", h.agent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8")
	for name, value := range g.Headers {
		switch name = canonical(name); {
		case left && !harmless[name], name == "Accept-Encoding": // which is the transport's
		case name == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// leadsOn is where a redirect goes. One that does not say is an answer like
// others.
func leadsOn(resp *http.Response, at *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	to := resp.Header.Get("Location")
	if to == "" {
		return nil, nil
	}
	next, err := at.Parse(to)
	if err != nil || next.Host == "" && (next.Scheme == "http" || next.Scheme == "https") {
		return nil, failing(belfry.CodeProtocol, "a redirect leads to what is not an address")
	}
	if next.Fragment == "" {
		next.Fragment = at.Fragment
	}
	return next, nil
}

// read takes the body up to the limit, which counts after decompression.
func (f *fetched) read(ctx context.Context, resp *http.Response, limit int) (err error) {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return failing(belfry.CodeBodyBroken, "the body is encoded as %q, which was not asked for", enc)
	}
	if limit <= 0 {
		limit = belfry.DefaultMaxPage
	}
	f.body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return netFault(ctx, err, receiving)
	case len(f.body) > limit:
		f.body = f.body[:limit]
		return failing(belfry.CodeBodyTooLarge, "the page is over the limit of %d bytes (max_body)", limit)
	}
	return nil
}

// certEnd is when the first certificate of a chain ends.
func certEnd(state *tls.ConnectionState) (end time.Time) {
	if state == nil {
		return end
	}
	for _, c := range state.PeerCertificates {
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end.UTC()
}

// add puts a hop to the others.
func (f *fetched) add(t *trip, at *url.URL) {
	p, took, ip := t.end()
	f.hops = append(f.hops, belfry.Hop{URL: shownURL(at.String()), Status: f.status, IP: ip, Phases: p, Took: belfry.Duration(took)})
	f.ip = ip
	f.phases.DNS += p.DNS
	f.phases.Connect += p.Connect
	f.phases.TLS += p.TLS
	f.phases.FirstByte += p.FirstByte
	f.phases.Transfer += p.Transfer
}
