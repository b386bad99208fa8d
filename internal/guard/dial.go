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

// Options of a guard. The zero value reaches the public internet and nothing
// else.
type Options struct {
	// Allow is what may be reached besides the public internet, see
	// [ParseAllow].
	Allow []netip.Prefix
	// Resolver of names. Default: the system's.
	Resolver *net.Resolver
	// ConnectTimeout bounds one connection. Default: 10s.
	ConnectTimeout time.Duration
	// ProxyFromEnvironment sends requests through HTTPS_PROXY and HTTP_PROXY.
	// The guard then sees the proxy's address and not the target's: the proxy
	// must guard. Default: these variables are ignored.
	ProxyFromEnvironment bool
}

// Dialer opens guarded connections.
type Dialer struct {
	allow  []netip.Prefix
	dialer net.Dialer
}

// NewDialer makes a dialer.
func NewDialer(o Options) *Dialer {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	d := &Dialer{allow: o.Allow}
	d.dialer = net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 15 * time.Second, Resolver: o.Resolver, ControlContext: d.control}
	return d
}

// DialContext connects like [net.Dialer], to allowed addresses. Networks other
// than tcp and udp are refused.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") && !strings.HasPrefix(network, "udp") {
		return nil, fmt.Errorf("network %q is not guarded, and so refused", network)
	}
	return d.dialer.DialContext(ctx, network, address)
}

// control is called with the socket and the very address it is about to
// connect to: there is no time between check and use.
func (d *Dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q cannot be checked: %w", address, err)
	}
	return Check(ap.Addr(), d.allow)
}

// Transport makes an HTTP transport that goes through the guard.
//
// It keeps connections, because a job that posts every second would spend
// most of its time in handshakes, but few and for a short time: the address
// was checked when the connection was made, so a kept one is as safe as a new
// one, and half a minute is less than what most servers keep.
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
