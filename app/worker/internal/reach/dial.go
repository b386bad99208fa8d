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

// connect looks a host up, chooses the first of its addresses that is of the
// family, and dials that one. The guard looks at the address again in the
// moment of the dial, so it does not matter what a name said before.
func (n *Net) connect(ctx context.Context, t *Trip, network, host, port string, family task.IPFamily) (net.Conn, error) {
	t.Enter(StageDNS)
	addr, err := n.Resolve(ctx, host, family)
	if err != nil {
		return nil, err
	}
	t.Dials(addr)
	t.Enter(StageConnect)
	conn, err := n.dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
	if err != nil {
		return nil, err
	}
	t.Enter(StageTurn)
	return conn, nil
}

// Resolve is the address to dial. The resolver sorts: an address of a family
// that this machine has no route for comes last.
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

// dialNetwork is the network for a dialer that looks up by itself.
func dialNetwork(network string, family task.IPFamily) string {
	switch family {
	case task.FamilyIPv4:
		return network + "4"
	case task.FamilyIPv6:
		return network + "6"
	}
	return network
}

// Permit says whether everything a name stands for may be reached. It is for
// what others dial for us: a proxy, or ICMP, which has no connection.
func (n *Net) Permit(addrs ...netip.Addr) error {
	for _, addr := range addrs {
		if err := guard.Check(addr, n.guard.Allow); err != nil {
			return err
		}
	}
	return nil
}

// Connect is a guarded connection to one address of a host.
func (l *Look) Connect(ctx context.Context, t *Trip, network, host, port string, family task.IPFamily) (net.Conn, error) {
	return l.net.connect(ctx, t, network, host, port, family)
}

// Open is a guarded connection whose end is the context's.
func (l *Look) Open(ctx context.Context, t *Trip, network, address string, family task.IPFamily) (net.Conn, *Fault) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, Ours(task.CodeConfig, "address: %s", err)
	}
	conn, err := l.net.connect(ctx, t, network, host, port, family)
	if err != nil {
		return nil, l.NetFault(ctx, t, err)
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

// Secure makes a connection one of TLS.
func (l *Look) Secure(ctx context.Context, t *Trip, conn net.Conn, config *tls.Config) (*tls.Conn, error) {
	t.Enter(StageTLS)
	own := &line{Conn: conn, gate: l.net.shakes, watch: &l.watch}
	own.shake(ctx)
	defer own.shaken()
	secured := tls.Client(own, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	t.Enter(StageTurn)
	return secured, nil
}
