package guard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Options configures a guard. The zero value allows only the public internet.
type Options struct {
	// Allow are the allowed ranges besides the public internet: see [ParseAllow].
	Allow []netip.Prefix
	// Resolver resolves names. Default: the system's.
	Resolver *net.Resolver
	// ConnectTimeout is the timeout for opening one connection. Default: 10s.
	ConnectTimeout time.Duration
	// ProxyFromEnvironment sends requests through HTTPS_PROXY and HTTP_PROXY. The
	// guard then checks only the address of the proxy, which must guard the
	// targets itself. Default: these variables are ignored.
	ProxyFromEnvironment bool
}

// Dialer opens guarded connections.
type Dialer struct {
	allow  []netip.Prefix
	dialer net.Dialer
}

// NewDialer returns a dialer.
func NewDialer(o Options) *Dialer {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	d := &Dialer{allow: o.Allow}
	d.dialer = net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 15 * time.Second, Resolver: o.Resolver, ControlContext: d.control}
	return d
}

// DialContext connects like [net.Dialer], but only to allowed addresses. It
// refuses networks other than tcp and udp.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return nil, fmt.Errorf("network %q is not guarded, and so refused", network)
	}
	return d.dialer.DialContext(ctx, network, address)
}

// control is called with the address to which the socket is about to connect. So
// there is no time between check and use.
func (d *Dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q cannot be checked: %w", address, err)
	}
	return Check(ap.Addr(), d.allow)
}

// Transport returns an HTTP transport that goes through the guard.
//
// It keeps connections, because a job that posts every second would otherwise
// spend most of its time in handshakes. A kept connection is as safe as a new one,
// because its address was checked. Few are kept, and for half a minute only, which
// is shorter than most servers keep them.
func Transport(o Options) *http.Transport {
	t := &http.Transport{
		DialContext:            NewDialer(o).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if o.ProxyFromEnvironment {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}
