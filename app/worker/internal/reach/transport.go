package reach

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
)

// Route holds the settings of a transport. All checks of the same route share a
// transport: one with its own authorities is expensive to create, and the number
// of transports stays small.
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

// Transport returns the transport of a route.
func (n *Net) Transport(r Route) (*http.Transport, *Fault) {
	now := time.Now()
	k, err := n.transports.Get(r, func() (*keptTransport, error) {
		t, err := n.newTransport(r)
		return &keptTransport{Transport: t, since: now}, err
	})
	if err != nil {
		return nil, Misconfigured("http", err)
	}
	return k.renew(now), nil
}

func (n *Net) newTransport(r Route) (*http.Transport, error) {
	t := guard.Transport(n.guard)
	t.DisableKeepAlives = !r.Warm
	t.ForceAttemptHTTP2 = !r.HTTP1
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return n.dialExchange(ctx, network, address, r)
	}
	t.TLSHandshakeTimeout = 0                                                                                                              // the deadline of the request also limits the handshake
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Time: n.Now, ServerName: r.ServerName, InsecureSkipVerify: r.SkipVerify} //nolint:gosec // a setting of the task, off by default
	if r.HTTP1 {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	var own tls.Certificate // empty: no client certificate
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
		if x, is := info.Context().Value(exchangeKey{}).(*Exchange); is {
			x.wasAsked()
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

// errProxy is the error of a proxy that refused CONNECT.
type errProxy struct{ status int }

func (e *errProxy) Error() string { return "the proxy answered " + http.StatusText(e.status) }

func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return &errProxy{resp.StatusCode}
	}
	return nil
}

// dialExchange dials for a transport. The exchange is in the context of the request that
// started the dial. net/http continues a dial after the end of its request, for
// other requests. Here the end of the request also ends the dial and the
// handshake (see [line]), so that nothing outlasts a deadline.
func (n *Net) dialExchange(ctx context.Context, network, address string, r Route) (net.Conn, error) {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	call, _ := ctx.Value(callKey{}).(context.Context)
	if x == nil || call == nil {
		return n.racing.DialContext(ctx, dialNetwork(network, r.Family), address)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(call, cancel)()
	conn, err := n.dialRoute(ctx, x, network, address, r)
	if err != nil {
		return nil, err
	}
	own := &handshakeConn{Conn: conn, slots: n.shakes, clock: x.clock}
	x.setConn(own)
	return own, nil
}

func (n *Net) dialRoute(ctx context.Context, x *Exchange, network, address string, r Route) (net.Conn, error) {
	if r.Racing {
		return n.racing.DialContext(ctx, dialNetwork(network, r.Family), address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return n.connect(ctx, x, network, host, port, r.Family)
}
