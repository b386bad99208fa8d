package probe

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
)

// route is what makes one transport different from another. Transports are
// shared by all checks of the same route: making one is dear where it needs
// authorities of its own, and counting them is easier than many.
type route struct {
	warm       bool // keeps connections
	racing     bool // tries all addresses: for jobs
	http1      bool // no HTTP/2: for WebSocket
	family     belfry.IPFamily
	proxy      string
	serverName string
	skipVerify bool
	ca         string
	cert, key  string
}

func (e *Executor) transport(r route) (*http.Transport, *fault) {
	t, err := e.transports.Get(r, func() (*http.Transport, error) { return e.newTransport(r) })
	if err != nil {
		return nil, configFault("http", err)
	}
	return t, nil
}

func (e *Executor) newTransport(r route) (*http.Transport, error) {
	t := guard.Transport(e.options.Guard)
	t.DisableKeepAlives = !r.warm
	t.ForceAttemptHTTP2 = !r.http1
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return e.dialTrip(ctx, network, address, r)
	}
	t.TLSHandshakeTimeout = 0                                                                                                 // the deadline of the whole is that of its parts
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: r.serverName, InsecureSkipVerify: r.skipVerify} //nolint:gosec // a setting of the task, off by default
	if r.http1 {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	var own tls.Certificate // an empty one is the answer of who has none
	var err error
	if t.TLSClientConfig.RootCAs, err = e.trusted(r.ca); err != nil {
		return nil, configure("ca", err)
	}
	if r.cert != "" {
		pair, err := parsePair(r.cert, r.key)
		if err != nil {
			return nil, configure("auth.cert", err)
		}
		own = pair
	}
	t.TLSClientConfig.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if t, is := info.Context().Value(tripKey{}).(*trip); is {
			t.wasAsked()
		}
		return &own, nil
	}
	if r.proxy != "" {
		u, err := url.Parse(r.proxy)
		if err != nil {
			return nil, configure("proxy", err)
		}
		t.Proxy = http.ProxyURL(u)
		t.OnProxyConnectResponse = proxyAnswered
	}
	return t, nil
}

func configure(field string, err error) error {
	return &fault{text: field + ": " + err.Error(), err: err}
}

// errProxy is a proxy that did not open the way.
type errProxy struct{ status int }

func (e *errProxy) Error() string { return "the proxy answered " + http.StatusText(e.status) }

func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return &errProxy{resp.StatusCode}
	}
	return nil
}

type tripKey struct{}

// dialTrip dials for a transport. The trip stands in the context of the
// request that asked first; the context's own end is not the request's, which
// may have found another connection meanwhile.
func (e *Executor) dialTrip(ctx context.Context, network, address string, r route) (net.Conn, error) {
	t, _ := ctx.Value(tripKey{}).(*trip)
	if r.racing || t == nil {
		return e.racing.DialContext(ctx, dialNetwork(network, r.family), address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	conn, err := e.connect(ctx, t, network, host, port, r.family)
	if err != nil {
		return nil, err
	}
	own := &line{Conn: conn, gate: e.shakes, watch: t.watch}
	t.uses(own)
	return own, nil
}

// traced is a context whose requests tell their trip where they are.
func traced(ctx context.Context, t *trip) context.Context {
	ctx = context.WithValue(ctx, tripKey{}, t)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() {
			t.enter(stageTLS)
			if own := t.current(); own != nil {
				own.shake(ctx)
			}
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if own := t.current(); own != nil {
				own.shaken()
			}
			if err == nil {
				t.enter(stageTurn)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.enter(stageWrite)
			if remote, is := info.Conn.RemoteAddr().(*net.TCPAddr); is && info.Reused {
				t.dials(remote.AddrPort().Addr().Unmap())
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.advance(stageWait)
			}
		},
		GotFirstResponseByte: func() { t.advance(stageHeaders) },
	})
}

// drained is how much of a redirect's body is read so that its connection can
// be used again.
const drained = 2 << 10
