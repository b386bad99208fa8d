package reach

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
)

// connect resolves a host, chooses its first address of the family, and dials
// it. The guard checks the address again at the dial, so earlier answers for the
// name do not matter.
func (n *Net) connect(ctx context.Context, x *Exchange, network, host, port string, family task.IPFamily) (net.Conn, error) {
	x.Enter(StageDNS)
	addr, err := n.Resolve(ctx, host, family)
	if err != nil {
		return nil, err
	}
	x.Dials(addr)
	x.Enter(StageConnect)
	conn, err := n.dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
	if err != nil {
		return nil, err
	}
	x.Enter(StageTurn)
	return conn, nil
}

// Resolve returns the address to dial. The resolver sorts: addresses of a family
// without a route on this machine come last.
func (n *Net) Resolve(ctx context.Context, host string, family task.IPFamily) (netip.Addr, error) {
	addrs, err := n.lookup(ctx, host, family)
	if err != nil {
		return netip.Addr{}, err
	}
	return addrs[0], nil
}

func (n *Net) lookup(ctx context.Context, host string, family task.IPFamily) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		if family == task.FamilyIPv4 && !addr.Is4() || family == task.FamilyIPv6 && addr.Is4() {
			return nil, errFamily
		}
		return []netip.Addr{addr}, nil
	}
	addrs, err := n.resolver.LookupNetIP(ctx, lookupNetwork(family), host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

var errFamily = errors.New("the address is not of the family that is asked for")

func lookupNetwork(family task.IPFamily) string {
	switch family {
	case task.FamilyIPv4:
		return "ip4"
	case task.FamilyIPv6:
		return "ip6"
	}
	return "ip"
}

// dialNetwork returns the network name for a dialer that resolves names itself.
func dialNetwork(network string, family task.IPFamily) string {
	switch family {
	case task.FamilyIPv4:
		return network + "4"
	case task.FamilyIPv6:
		return network + "6"
	}
	return network
}

// Permit checks that all addresses of a name may be reached. It is for targets
// that this process does not dial itself: behind a proxy, or of ICMP, which has
// no connection.
func (n *Net) Permit(addrs ...netip.Addr) error {
	for _, addr := range addrs {
		if err := guard.Check(addr, n.guard.Allow); err != nil {
			return err
		}
	}
	return nil
}

// Connect opens a guarded connection to one address of a host.
func (c *Check) Connect(ctx context.Context, x *Exchange, network, host, port string, family task.IPFamily) (net.Conn, error) {
	return c.net.connect(ctx, x, network, host, port, family)
}

// Open opens a guarded connection that ends with the context.
func (c *Check) Open(ctx context.Context, x *Exchange, network, address string, family task.IPFamily) (net.Conn, *Fault) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, Ours(task.CodeConfig, "address: %s", err)
	}
	conn, err := c.net.connect(ctx, x, network, host, port, family)
	if err != nil {
		return nil, c.NetFault(ctx, x, err)
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		_ = conn.SetDeadline(deadline)
	}
	return &cancelable{Conn: conn, stop: context.AfterFunc(ctx, func() { _ = conn.SetDeadline(Past) })}, nil
}

// cancelable is a connection that ends with a context.
type cancelable struct {
	net.Conn
	stop func() bool
}

func (c *cancelable) Close() error {
	c.stop()
	return c.Conn.Close()
}

// Secure starts TLS on a connection.
func (c *Check) Secure(ctx context.Context, x *Exchange, conn net.Conn, config *tls.Config) (*tls.Conn, error) {
	x.Enter(StageTLS)
	own := &handshakeConn{Conn: conn, slots: c.net.shakes, clock: &c.clock}
	own.beginHandshake(ctx)
	defer own.endHandshake()
	secured := tls.Client(own, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	x.Enter(StageTurn)
	return secured, nil
}
