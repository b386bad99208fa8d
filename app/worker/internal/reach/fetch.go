package reach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/exchange"
	"github.com/belfry-run/belfry/task"
)

// Fetch is a document to ask for, over its redirects.
type Fetch struct {
	Request      *http.Request // the first one, for any context
	Route        Route         // its name and certificate are for the first host alone
	MaxBody      int           // bytes, counted after decompression
	MaxRedirects int           // 0: the default; negative: none is followed
	Job          bool          // wants its request done, and not to measure: it takes no turns, and walks circles
}

// Answer is what came back, as far as it came.
type Answer struct {
	URL     string // the last one asked, fit to be shown
	Moved   bool   // it is not the first one
	Status  int
	Header  http.Header
	Body    []byte // as it came; until the look is freed
	Text    []byte // the body as UTF-8 if it is a text, or as it came; nil of one that is encoded
	Encoded string // how the body is encoded, such as br, where that could not be undone
	Took    time.Duration
	Reading bool // it was broken off in the body
	Hops    int
}

// Fetch makes the request and follows where it leads, itself, because each hop
// is a trip of its own, and because what a task sets is for its host alone.
func (l *Look) Fetch(ctx context.Context, what Fetch) (a Answer, f *Fault) {
	begun := l.watch.now()
	path := journey{first: what.Request.URL, most: what.MaxRedirects}
	if !what.Job {
		path.seen = map[string]bool{}
	}
	for req := what.Request; req != nil && f == nil; {
		path.arrive(req)
		a.URL, a.Moved = RedactURL(req.URL), a.Hops > 0
		a.Hops++
		req, f = l.hop(ctx, &a, what, req, &path)
	}
	if f != nil && f.Code == task.CodeBlocked && a.Hops > 1 {
		// Its visitors cannot go there either: that is the target's fault.
		f.Outcome, f.Code, f.Text = task.CheckFail, task.CodeRedirectBlocked, redirectBlockedText
	}
	a.Took = l.watch.now() - begun
	if a.Encoded == "" {
		a.Text = TextOf(a.Body, a.Header.Get("Content-Type"))
	}
	l.keep(a)
	return a, f
}

// keep takes over what conditions and snapshots show of an answer.
func (l *Look) keep(a Answer) {
	l.Result.Status = a.Status
	l.Facts.Status, l.Facts.Header, l.Facts.Body = a.Status, a.Header, a.Text
	l.Facts.Redirects, l.Facts.FinalURL = max(a.Hops-1, 0), a.URL
	if len(l.Result.Hops) == 1 {
		l.Result.Hops = nil // a line of its own is worth it where there are several
	}
	if a.Status != 0 {
		l.KeepAnswer(a)
	}
}

// KeepAnswer makes the snapshot one of this answer.
func (l *Look) KeepAnswer(a Answer) {
	l.Snapshot = func() *task.Snapshot {
		return l.Secrets.Keep(strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))), a.Header, a.Text)
	}
}

// hop asks once. When the answer leads elsewhere, next is where.
func (l *Look) hop(ctx context.Context, a *Answer, what Fetch, req *http.Request, path *journey) (next *http.Request, f *Fault) {
	if !what.Job {
		leave, f := l.Turn(ctx, HostPort(req.URL))
		if f != nil {
			return nil, f
		}
		defer leave()
	}
	trip, status := l.Trip(), 0
	defer func() { l.landed(req, trip, status) }()
	transport, f := l.transportFor(ctx, trip, what.Route, req, path.left)
	if f != nil {
		return nil, f
	}
	resp, err := exchange.RoundTrip(transport, path.dressed(Traced(ctx, trip), req))
	if err != nil {
		l.SawRefused(err)
		return nil, l.HTTPFault(ctx, trip, err)
	}
	defer func() { _ = resp.Body.Close() }()
	l.Saw(resp.TLS)
	a.Status, a.Header, status = resp.StatusCode, resp.Header, resp.StatusCode
	path.keep(req.URL, resp.Cookies())
	if next, f = path.next(req, resp); f != nil || next != nil {
		if !transport.DisableKeepAlives && resp.ContentLength <= Drained {
			_, _ = io.CopyN(io.Discard, resp.Body, Drained)
		}
		return next, f
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // as the task asked: what follows is no body
		return nil, nil
	}
	trip.Enter(StageBody)
	var body io.Reader
	body, a.Encoded = decoded(resp.Body, resp.Header)
	f = l.read(ctx, trip, a, body, cmp.Or(what.MaxBody, task.DefaultMaxBody))
	return nil, f
}

// Unreadable is the fault of a body that is wanted and encoded.
func (a Answer) Unreadable() *Fault {
	return Failing(task.CodeBodyBroken, "the body is encoded as %q, and only gzip and deflate can be read", a.Encoded)
}

// Drained is how much of an unwanted body is read: of a redirect, so
// that its connection can be used again.
const Drained = 2 << 10

// read takes the body, up to the limit. Bytes are counted after
// decompression, so a bomb ends at the limit too.
func (l *Look) read(ctx context.Context, trip *Trip, a *Answer, from io.Reader, limit int) (f *Fault) {
	to := l.Buffer()
	_, err := to.ReadFrom(io.LimitReader(from, int64(limit)+1))
	a.Body = to.Bytes()
	switch {
	case to.Len() > limit:
		a.Body = a.Body[:limit]
		f = Failing(task.CodeBodyTooLarge, "the body is over the limit of %d bytes (max_body)", limit)
		f.Err = errors.New(f.Text)
	case err != nil:
		f = l.HTTPFault(ctx, trip, err)
	}
	a.Reading = f != nil
	return f
}

// landed ends a hop's trip, and lists the hop.
func (l *Look) landed(req *http.Request, trip *Trip, status int) {
	phases, took, ip := trip.measured()
	if len(l.Result.Hops) < task.MaxHops {
		l.Result.Hops = append(l.Result.Hops, task.Hop{URL: l.Secrets.Hide(RedactURL(req.URL)), Status: status, IP: ip, Phases: phases, Took: core.Duration(took)})
	}
}

// transportFor chooses the transport of a hop. Once the request has left its
// host it has neither the certificate nor the name that were meant for that.
func (l *Look) transportFor(ctx context.Context, t *Trip, r Route, req *http.Request, left bool) (*http.Transport, *Fault) {
	if left {
		r.ServerName, r.Cert, r.Key = "", "", ""
	}
	if r.Proxy != "" {
		// The dialer sees the proxy's address, and never the target's. The
		// proxy looks the name up again, and may be told something else then:
		// a proxy that may reach what must not be reached guards by itself.
		t.Enter(StageDNS)
		addrs, err := l.net.lookup(ctx, req.URL.Hostname(), r.Family)
		if err == nil {
			err = l.net.Permit(addrs...)
		}
		if err != nil {
			return nil, l.NetFault(ctx, t, err)
		}
		t.Enter(StageTurn)
	}
	return l.net.Transport(r)
}

// HTTPFault is NetFault with what only HTTP can say.
func (l *Look) HTTPFault(ctx context.Context, t *Trip, err error) *Fault {
	var proxy *errProxy
	var op *net.OpError
	switch {
	case errors.As(err, &proxy) && (proxy.status == http.StatusForbidden || proxy.status == http.StatusProxyAuthRequired):
		return &Fault{task.CheckError, task.CodeConfig, fmt.Sprintf("the proxy refused: it answered %d", proxy.status), err}
	case errors.As(err, &proxy):
		return &Fault{task.CheckFail, task.CodeConnectFailed, fmt.Sprintf("the proxy could not reach the target: it answered %d", proxy.status), err}
	case errors.As(err, &op) && op.Op == "proxyconnect" && ownFault(err) == nil && CutShort(ctx) == nil:
		return &Fault{task.CheckError, task.CodeNetwork, "the proxy cannot be reached: " + Cause(op.Err), err}
	case errors.Is(err, exchange.ErrSwitched):
		return &Fault{task.CheckFail, task.CodeProtocol, "the target switched to another protocol (101 Switching Protocols) without being asked to", err}
	case strings.Contains(err.Error(), "response headers exceeded"):
		return &Fault{task.CheckFail, task.CodeProtocol, "the headers are over the limit of 64 KiB", err}
	}
	f := l.NetFault(ctx, t, err)
	if f.Outcome == task.CheckFail && t.isAsked() && (f.Code == task.CodeWrite && !IsTimeout(err) || f.Code == task.CodeProtocol) {
		// TLS 1.3 refuses a client after the handshake. Whether its words or the
		// end of the connection are seen first is chance.
		f.Code, f.Text = task.CodeTLSHandshake, "the target asked for a certificate of the client (auth.cert) and then ended the connection: "+Cause(err)
	}
	return f
}

// HostPort is where a URL leads, with its port.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "wss": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
