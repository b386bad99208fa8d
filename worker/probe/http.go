package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// answer is what came back.
type answer struct {
	url     string // the last one asked, fit to be shown
	moved   bool   // it is not the first one
	status  int
	header  http.Header
	body    []byte
	took    time.Duration
	reading bool // it was broken off in the body
	hops    int
}

// http looks at a target of kind http.
func (l *look) http(ctx context.Context) *fault {
	want, err := l.e.expectation(l.task.HTTP)
	if err != nil {
		return configFault("http", err)
	}
	l.knowSecrets(l.task.HTTP)
	a, f := l.ask(ctx)
	l.fill(a)
	if len(l.m.Hops) == 1 {
		l.m.Hops = nil // a line of its own is worth it where there are several
	}
	if a.status != 0 {
		l.keepAnswer(a)
	}
	if f != nil {
		return f
	}
	l.answered = true
	return want.fault(a)
}

// fill takes over what conditions may ask for.
func (l *look) fill(a answer) {
	l.m.Status = a.status
	l.facts.Status, l.facts.Header, l.facts.Body = a.status, a.header, a.body
	l.facts.Redirects, l.facts.FinalURL = max(a.hops-1, 0), a.url
}

func (l *look) keepAnswer(a answer) {
	l.snapshot = func() *belfry.Snapshot {
		return l.secrets.keep(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), a.header, a.body)
	}
}

// knowSecrets keeps in mind what is sent and must not be kept when it comes
// back.
func (l *look) knowSecrets(h *belfry.HTTP) {
	if a := h.Auth; a != nil {
		l.secrets.add(string(a.Password), string(a.Bearer), string(a.Key))
	}
	l.knowHeaders(h.Headers)
	l.knowURL(h.URL)
}

func (l *look) knowHeaders(headers map[string]string) {
	for name, value := range headers {
		if !harmless[http.CanonicalHeaderKey(name)] && http.CanonicalHeaderKey(name) != "Host" {
			l.secrets.add(value)
			if _, token, found := strings.Cut(value, " "); found { // Bearer TOKEN
				l.secrets.add(token)
			}
		}
	}
}

func (l *look) knowURL(text string) {
	u, err := url.Parse(text)
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if private.MatchString(name) || strings.EqualFold(name, "key") {
			l.secrets.add(values...)
		}
	}
}

// ask makes the request and follows where it leads. Each of its hops is a trip
// of its own.
func (l *look) ask(ctx context.Context) (a answer, f *fault) {
	h := l.task.HTTP
	begun := l.watch.now()
	defer func() { a.took = l.watch.now() - begun }()
	req, err := l.request(h)
	if err != nil {
		return a, configFault("http.url", errors.New(redactText(err.Error())))
	}
	a.url = redactURL(req.URL)
	path := journey{first: req.URL}
	if l.run == nil {
		path.seen = map[string]bool{}
	}
	for {
		path.arrive(req)
		a.url, a.moved = redactURL(req.URL), a.hops > 0
		a.hops++
		next, f := l.hop(ctx, &a, req, &path)
		if f != nil || next == nil {
			return a, f
		}
		req = next
	}
}

// hop asks once. When the answer leads elsewhere, next is where.
func (l *look) hop(ctx context.Context, a *answer, req *http.Request, path *journey) (next *http.Request, f *fault) {
	if l.run == nil {
		leave, f := l.turn(ctx, hostPort(req.URL))
		if f != nil {
			return nil, f
		}
		defer leave()
	}
	trip, status := newTrip(&l.watch), 0
	defer func() { l.landed(req, trip, status) }()
	transport, f := l.transportFor(ctx, trip, req, path.left)
	if f != nil {
		return nil, f
	}
	resp, err := transport.RoundTrip(req.WithContext(traced(ctx, trip)))
	if err != nil {
		l.sawRefused(err)
		return nil, l.httpFault(ctx, trip, err)
	}
	defer func() { _ = resp.Body.Close() }()
	l.saw(resp.TLS)
	a.status, a.header, status = resp.StatusCode, resp.Header, resp.StatusCode
	if next, f = path.next(req, resp, l.task.HTTP.MaxRedirects); f != nil || next != nil {
		if !transport.DisableKeepAlives && resp.ContentLength <= drained {
			_, _ = io.CopyN(io.Discard, resp.Body, drained)
		}
		return next, f
	}
	trip.enter(stageBody)
	limit := or(l.task.HTTP.MaxBody, belfry.DefaultMaxBody)
	a.body, err = l.read(resp.Body, limit)
	switch {
	case errors.Is(err, errTooLarge):
		f = failing(belfry.CodeBodyTooLarge, "the body is over the limit of %d bytes (max_body)", limit)
		f.err = errors.New(f.text)
	case err != nil:
		f = l.httpFault(ctx, trip, err)
	}
	a.reading = f != nil
	return nil, f
}

// landed adds a hop to the measure.
func (l *look) landed(req *http.Request, trip *trip, status int) {
	l.arrive(trip)
	if len(l.m.Hops) < belfry.MaxHops {
		phases, took, ip, _ := trip.end()
		l.m.Hops = append(l.m.Hops, belfry.Hop{URL: l.secrets.hide(redactURL(req.URL)), Status: status, IP: ip, Phases: phases, Took: belfry.Duration(took)})
	}
}

var errTooLarge = errors.New("the body is too large")

// read is the body, up to the limit. What is counted comes after
// decompression, so a bomb ends at the limit too.
func (l *look) read(from io.Reader, limit int) ([]byte, error) {
	to := l.buffer()
	_, err := to.ReadFrom(io.LimitReader(from, int64(limit)+1))
	if to.Len() > limit {
		return to.Bytes()[:limit], errTooLarge
	}
	return to.Bytes(), err
}

// transportFor chooses the transport of a hop. Once the request has left its
// host it has neither the certificate nor the name that were meant for that.
func (l *look) transportFor(ctx context.Context, t *trip, req *http.Request, left bool) (*http.Transport, *fault) {
	h := l.task.HTTP
	r := route{warm: h.KeepAlive || l.run != nil, racing: l.run != nil, family: h.Family, proxy: h.Proxy, skipVerify: h.SkipVerify, ca: h.CA}
	if !left {
		r.serverName = h.ServerName
		if h.Auth != nil {
			r.cert, r.key = h.Auth.Cert, string(h.Auth.Key)
		}
	}
	if h.Proxy != "" {
		// The dialer sees the proxy's address, and never the target's. The
		// proxy looks the name up again, and may be told something else then:
		// a proxy that may reach what must not be reached guards by itself.
		t.enter(stageDNS)
		addrs, err := l.e.lookup(ctx, req.URL.Hostname(), h.Family)
		if err == nil {
			err = l.e.guarded(addrs)
		}
		if err != nil {
			return nil, l.netFault(ctx, t, err)
		}
		t.enter(stageTurn)
	}
	return l.e.transport(r)
}

// httpFault is netFault with what only HTTP can say.
func (l *look) httpFault(ctx context.Context, t *trip, err error) *fault {
	var proxy *errProxy
	var op *net.OpError
	switch {
	case errors.As(err, &proxy) && (proxy.status == http.StatusForbidden || proxy.status == http.StatusProxyAuthRequired):
		return &fault{belfry.CheckError, belfry.CodeConfig, fmt.Sprintf("the proxy refused: it answered %d", proxy.status), err}
	case errors.As(err, &proxy):
		return &fault{belfry.CheckFail, belfry.CodeConnectFailed, fmt.Sprintf("the proxy could not reach the target: it answered %d", proxy.status), err}
	case errors.As(err, &op) && op.Op == "proxyconnect" && l.ownFault(err) == nil && cutShort(ctx) == nil:
		return &fault{belfry.CheckError, belfry.CodeNetwork, "the proxy cannot be reached: " + cause(op.Err), err}
	case strings.Contains(err.Error(), "response headers exceeded"):
		return &fault{belfry.CheckFail, belfry.CodeProtocol, "the headers are over the limit of 64 KiB", err}
	}
	f := l.netFault(ctx, t, err)
	if f.outcome == belfry.CheckFail && t.isAsked() && (f.code == belfry.CodeWrite && !isTimeout(err) || f.code == belfry.CodeProtocol) {
		// TLS 1.3 refuses a client after the handshake. Whether its words or the
		// end of the connection are seen first is chance.
		f.code, f.text = belfry.CodeTLSHandshake, "the target asked for a certificate of the client (auth.cert) and then ended the connection: "+cause(err)
	}
	return f
}

// pattern is a compiled regular expression.
type pattern = regexp.Regexp

func (e *Executor) pattern(text string) (*pattern, error) {
	return e.patterns.Get(text, func() (*pattern, error) { return regexp.Compile(text) })
}

// expectation is what the task wants of an answer.
type expectation struct {
	texts  []string
	status []belfry.StatusRange
	body   *pattern // nil: anything
}

func (e *Executor) expectation(h *belfry.HTTP) (w expectation, err error) {
	w.texts = h.ExpectStatus
	if len(w.texts) == 0 {
		w.texts = []string{"200-299"}
	}
	if w.status, err = belfry.ParseStatusRanges(w.texts); err != nil || h.ExpectBody == "" {
		return w, err
	}
	w.body, err = e.pattern(h.ExpectBody)
	return w, err
}

// fault is nil for an answer that is as expected.
func (w expectation) fault(a answer) *fault {
	fits := func(s belfry.StatusRange) bool { return a.status >= s.From && a.status <= s.To }
	switch {
	case !slices.ContainsFunc(w.status, fits):
		return failing(belfry.CodeStatus, "expected status %s, got %d %s", strings.Join(w.texts, ", "), a.status, http.StatusText(a.status))
	case w.body != nil && !w.body.Match(a.body):
		return failing(belfry.CodeAssertion, "expected a body that matches %q, got %d bytes", w.body, len(a.body))
	}
	return nil
}

func or[T comparable](given, fallback T) T {
	var zero T
	if given == zero {
		return fallback
	}
	return given
}
