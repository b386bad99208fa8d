package reach

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
)

// Route is what makes one transport different from another. Transports are
// shared by all checks of the same route: making one is dear where it needs
// authorities of its own, and counting them is easier than many.
type Route struct {
	Warm       bool // keeps connections
	Racing     bool // tries all addresses: for jobs
	HTTP1      bool // no HTTP/2: for WebSocket
	Family     task.IPFamily
	Proxy      string
	ServerName string
	SkipVerify bool
	CA         string
	Cert, Key  string
}

// Transport is the one of a route.
func (n *Net) Transport(r Route) (*http.Transport, *Fault) {
	t, err := n.transports.Get(r, func() (*http.Transport, error) { return n.newTransport(r) })
	if err != nil {
		return nil, Misconfigured("http", err)
	}
	return t, nil
}

func (n *Net) newTransport(r Route) (*http.Transport, error) {
	t := guard.Transport(n.guard)
	t.DisableKeepAlives = !r.Warm
	t.ForceAttemptHTTP2 = !r.HTTP1
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return n.dialTrip(ctx, network, address, r)
	}
	t.TLSHandshakeTimeout = 0                                                                                                 // the deadline of the whole is that of its parts
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: r.ServerName, InsecureSkipVerify: r.SkipVerify} //nolint:gosec // a setting of the task, off by default
	if r.HTTP1 {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	var own tls.Certificate // an empty one is the answer of who has none
	var err error
	if t.TLSClientConfig.RootCAs, err = n.Trusted(r.CA); err != nil {
		return nil, configure("ca", err)
	}
	if r.Cert != "" {
		pair, err := ParsePair(r.Cert, r.Key)
		if err != nil {
			return nil, configure("auth.cert", err)
		}
		own = pair
	}
	t.TLSClientConfig.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if t, is := info.Context().Value(tripKey{}).(*Trip); is {
			t.wasAsked()
		}
		return &own, nil
	}
	if r.Proxy != "" {
		u, err := url.Parse(r.Proxy)
		if err != nil {
			return nil, configure("proxy", err)
		}
		t.Proxy = http.ProxyURL(u)
		t.OnProxyConnectResponse = proxyAnswered
	}
	return t, nil
}

func configure(field string, err error) error {
	return &Fault{Text: field + ": " + err.Error(), Err: err}
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

// dialTrip dials for a transport. The trip stands in the context of the
// request that asked first. net/http goes on with a dial whose request has
// ended, for others that may want the connection; here the request's end ends
// it, and the handshake after it too (see [line]), so that nothing outlasts a
// deadline.
func (n *Net) dialTrip(ctx context.Context, network, address string, r Route) (net.Conn, error) {
	t, _ := ctx.Value(tripKey{}).(*Trip)
	call, _ := ctx.Value(callKey{}).(context.Context)
	if t == nil || call == nil {
		return n.racing.DialContext(ctx, dialNetwork(network, r.Family), address)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(call, cancel)()
	conn, err := n.dialRoute(ctx, t, network, address, r)
	if err != nil {
		return nil, err
	}
	own := &line{Conn: conn, gate: n.shakes, watch: t.watch}
	t.uses(own)
	return own, nil
}

func (n *Net) dialRoute(ctx context.Context, t *Trip, network, address string, r Route) (net.Conn, error) {
	if r.Racing {
		return n.racing.DialContext(ctx, dialNetwork(network, r.Family), address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return n.connect(ctx, t, network, host, port, r.Family)
}
