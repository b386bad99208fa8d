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

// Fetch describes a document to fetch, and how to follow redirects.
type Fetch struct {
	Request      *http.Request // the first one, for any context
	Route        Route         // its server name and certificate apply to the first host alone
	MaxBody      int           // bytes, counted after decompression
	MaxRedirects int           // 0: the default; negative: none is followed
	Job          bool          // the request of a job, not a measurement: it waits for no turn, and may follow redirect loops
}

// Answer is the answer to a fetch; it may be incomplete.
type Answer struct {
	URL     string // last requested URL, without secrets
	Moved   bool   // URL differs from the first one
	Status  int
	Header  http.Header
	Body    []byte // raw bytes; valid until the check is freed
	Text    []byte // the body as UTF-8 if it is a text, or else the raw bytes; nil if it could not be decoded
	Encoded string // remaining encoding of the body, such as br, that could not be decoded
	Took    time.Duration
	Reading bool // the fetch ended within the body
	Hops    int
}

// Fetch sends the request and follows redirects. It does so itself, because each
// hop is an exchange of its own, and because settings of a task apply to its host
// alone.
func (c *Check) Fetch(ctx context.Context, what Fetch) (a Answer, f *Fault) {
	begun := c.clock.now()
	path := redirectState{first: what.Request.URL, most: what.MaxRedirects}
	if !what.Job {
		path.seen = map[string]bool{}
	}
	for req := what.Request; req != nil && f == nil; {
		path.recordRequest(req)
		a.URL, a.Moved = RedactURL(req.URL), a.Hops > 0
		a.Hops++
		req, f = c.hop(ctx, &a, what, req, &path)
	}
	if f != nil && f.Code == task.CodeBlocked && a.Hops > 1 {
		// Visitors of the target cannot go there either: that is the target's fault.
		f.Outcome, f.Code, f.Text = task.CheckFail, task.CodeRedirectBlocked, redirectBlockedText
	}
	a.Took = c.clock.now() - begun
	if a.Encoded == "" {
		a.Text = TextOf(a.Body, a.Header.Get("Content-Type"))
	}
	c.keep(a)
	return a, f
}

// keep copies the parts of an answer for conditions and snapshots.
func (c *Check) keep(a Answer) {
	c.Result.Status = a.Status
	c.Facts.Status, c.Facts.Header, c.Facts.Body = a.Status, a.Header, a.Text
	c.Facts.Redirects, c.Facts.FinalURL = max(a.Hops-1, 0), a.URL
	if len(c.Result.Hops) == 1 {
		c.Result.Hops = nil // hops are listed only if there are several
	}
	if a.Status != 0 {
		c.KeepAnswer(a)
	}
}

// KeepAnswer sets the snapshot to this answer.
func (c *Check) KeepAnswer(a Answer) {
	c.Snapshot = func() *task.Snapshot {
		return c.Secrets.Keep(strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status))), a.Header, a.Text)
	}
}

// hop sends one request. If the answer is a redirect, next is the next request.
func (c *Check) hop(ctx context.Context, a *Answer, what Fetch, req *http.Request, path *redirectState) (next *http.Request, f *Fault) {
	if !what.Job {
		leave, f := c.WaitTurn(ctx, HostPort(req.URL))
		if f != nil {
			return nil, f
		}
		defer leave()
	}
	x, status := c.NewExchange(), 0
	defer func() { c.landed(req, x, status) }()
	transport, f := c.transportFor(ctx, x, what.Route, req, path.leftHost)
	if f != nil {
		return nil, f
	}
	resp, err := exchange.RoundTrip(transport, path.withCookies(Traced(ctx, x), req))
	if err != nil {
		c.SawRefused(err)
		return nil, c.HTTPFault(ctx, x, err)
	}
	defer func() { _ = resp.Body.Close() }()
	c.Saw(resp.TLS)
	a.Status, a.Header, status = resp.StatusCode, resp.Header, resp.StatusCode
	path.storeCookies(req.URL, resp.Cookies())
	if next, f = path.next(req, resp); f != nil || next != nil {
		if !transport.DisableKeepAlives && resp.ContentLength <= Drained {
			_, _ = io.CopyN(io.Discard, resp.Body, Drained)
		}
		return next, f
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // an upgrade that the task asked for; no body follows
		return nil, nil
	}
	x.Enter(StageBody)
	var body io.Reader
	body, a.Encoded = decoded(resp.Body, resp.Header)
	f = c.read(ctx, x, a, body, cmp.Or(what.MaxBody, task.DefaultMaxBody))
	return nil, f
}

// Unreadable is the fault of a body that could not be decoded.
func (a Answer) Unreadable() *Fault {
	return Failing(task.CodeBodyBroken, "the body is encoded as %q, and only gzip and deflate can be read", a.Encoded)
}

// Drained is how many bytes of an unused body are read, such as that of a
// redirect, so that the connection can be used again.
const Drained = 2 << 10

// read reads the body, up to the limit. Bytes are counted after decompression,
// so a decompression bomb also ends at the limit.
func (c *Check) read(ctx context.Context, x *Exchange, a *Answer, from io.Reader, limit int) (f *Fault) {
	to := c.Buffer()
	_, err := to.ReadFrom(io.LimitReader(from, int64(limit)+1))
	a.Body = to.Bytes()
	switch {
	case to.Len() > limit:
		a.Body = a.Body[:limit]
		f = Failing(task.CodeBodyTooLarge, "the body is over the limit of %d bytes (max_body)", limit)
		f.Err = errors.New(f.Text)
	case err != nil:
		f = c.HTTPFault(ctx, x, err)
	}
	a.Reading = f != nil
	return f
}

// landed ends a hop's exchange, and lists the hop.
func (c *Check) landed(req *http.Request, x *Exchange, status int) {
	phases, took, ip := x.measured()
	if len(c.Result.Hops) < task.MaxHops {
		c.Result.Hops = append(c.Result.Hops, task.Hop{URL: c.Secrets.Hide(RedactURL(req.URL)), Status: status, IP: ip, Phases: phases, Took: core.Duration(took)})
	}
}

// transportFor chooses the transport of a hop. After a redirect to another host,
// the client certificate and the server name of the task no longer apply.
func (c *Check) transportFor(ctx context.Context, x *Exchange, r Route, req *http.Request, left bool) (*http.Transport, *Fault) {
	if left {
		r.ServerName, r.Cert, r.Key = "", "", ""
	}
	if r.Proxy != "" {
		// The dialer sees the proxy's address, not the target's. The proxy resolves
		// the name again, and may get another answer: a proxy that can reach denied
		// addresses must guard them itself.
		x.Enter(StageDNS)
		addrs, err := c.net.lookup(ctx, req.URL.Hostname(), r.Family)
		if err == nil {
			err = c.net.Permit(addrs...)
		}
		if err != nil {
			return nil, c.NetFault(ctx, x, err)
		}
		x.Enter(StageTurn)
	}
	return c.net.Transport(r)
}

// HTTPFault is NetFault with the errors of HTTP.
func (c *Check) HTTPFault(ctx context.Context, x *Exchange, err error) *Fault {
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
	f := c.NetFault(ctx, x, err)
	if f.Outcome == task.CheckFail && x.isAsked() && (f.Code == task.CodeWrite && !IsTimeout(err) || f.Code == task.CodeProtocol) {
		// TLS 1.3 refuses a client after the handshake. It is random whether the alert
		// or the end of the connection is seen first.
		f.Code, f.Text = task.CodeTLSHandshake, "the target asked for a certificate of the client (auth.cert) and then ended the connection: "+Cause(err)
	}
	return f
}

// HostPort returns the host and port of a URL.
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
