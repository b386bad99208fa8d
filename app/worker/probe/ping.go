package probe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/task"
)

// slowestPing is the time after which a request counts as lost.
const slowestPing = 2 * time.Second

// ping sends echo requests, one after another. The next follows after the answer
// to the previous one, or after its share of the time.
func (c *check) ping(ctx context.Context) *reach.Fault {
	g := c.Task.Ping
	leave, f := c.WaitTurn(ctx, g.Host)
	if f != nil {
		return f
	}
	defer leave()
	x := c.NewExchange()
	x.Enter(reach.StageDNS)
	addr, err := c.e.net.Resolve(ctx, g.Host, g.Family)
	if err == nil {
		x.Dials(addr)
		err = c.e.net.Permit(addr)
	}
	if err != nil {
		return c.NetFault(ctx, x, err)
	}
	x.Enter(reach.StageTurn)
	pings, err := openPings(addr)
	if err != nil {
		return c.pingFault(ctx, x, err)
	}
	defer func() { _ = pings.conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = pings.conn.SetDeadline(reach.Past) })()
	var times []time.Duration
	for i := range g.Count {
		part, cancel := share(ctx, g.Count-i)
		part, end := context.WithTimeout(part, slowestPing)
		took, err := pings.ping(part, i)
		end()
		cancel()
		switch {
		case err == nil:
			times = append(times, took)
		case reach.CutShort(ctx) != nil:
			return c.NetFault(ctx, x, err)
		case !reach.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded):
			return c.pingFault(ctx, x, err)
		}
	}
	x.End()
	return c.judgePings(times)
}

// judgePings sets the latency to the mean of the answered requests.
func (c *check) judgePings(times []time.Duration) *reach.Fault {
	g := c.Task.Ping
	lost := g.Count - len(times)
	c.Facts.Loss = 100 * float64(lost) / float64(g.Count)
	c.Answered = true
	var sum time.Duration
	for i, took := range times {
		sum += took
		if i == 0 || took < c.Facts.RTTMin {
			c.Facts.RTTMin = took
		}
		c.Facts.RTTMax = max(c.Facts.RTTMax, took)
	}
	if len(times) > 0 {
		c.Facts.RTT = sum / time.Duration(len(times))
		c.Mean = c.Facts.RTT
	}
	if lost > 0 && 100*lost > g.MaxLoss*g.Count {
		return reach.Failing(task.CodeLoss, "%d of %d requests had no answer", lost, g.Count)
	}
	return nil
}

func (c *check) pingFault(ctx context.Context, x *reach.Exchange, err error) *reach.Fault {
	if reach.Is(err, syscall.EPERM, syscall.EACCES, syscall.EPROTONOSUPPORT, syscall.EAFNOSUPPORT) {
		f := reach.Ours(task.CodeUnsupported, "this machine does not let the worker send pings: allow its group (sysctl net.ipv4.ping_group_range), or give it CAP_NET_RAW")
		f.Err = err
		return f
	}
	x.Enter(reach.StageConnect)
	return c.NetFault(ctx, x, err)
}

// pings is a socket for echo requests to one address.
type pings struct {
	conn  *icmp.PacketConn
	to    net.Addr
	addr  netip.Addr
	kind  icmp.Type
	reply icmp.Type
	proto int
	raw   bool
	id    int
	token [16]byte
}

// openPings opens an unprivileged ICMP socket, if the system allows it to the
// worker's group, or else a raw one.
func openPings(addr netip.Addr) (*pings, error) {
	p := &pings{addr: addr, kind: ipv4.ICMPTypeEcho, reply: ipv4.ICMPTypeEchoReply, proto: 1}
	plain, raw, any := "udp4", "ip4:icmp", "0.0.0.0"
	if addr.Is6() {
		p.kind, p.reply, p.proto = ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply, 58
		plain, raw, any = "udp6", "ip6:ipv6-icmp", "::"
	}
	_, _ = rand.Read(p.token[:])
	p.id = int(binary.BigEndian.Uint16(p.token[:]))
	ip := net.IP(addr.AsSlice())
	var err error
	if p.conn, err = icmp.ListenPacket(plain, any); err == nil {
		p.to = &net.UDPAddr{IP: ip, Zone: addr.Zone()}
		return p, nil
	}
	if p.conn, err = icmp.ListenPacket(raw, any); err != nil {
		return nil, err
	}
	p.to, p.raw = &net.IPAddr{IP: ip, Zone: addr.Zone()}, true
	return p, nil
}

// ping returns the time of one request until its answer.
func (p *pings) ping(ctx context.Context, seq int) (time.Duration, error) {
	m := icmp.Message{Type: p.kind, Body: &icmp.Echo{ID: p.id, Seq: seq, Data: p.token[:]}}
	wire, err := m.Marshal(nil)
	if err != nil {
		return 0, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		_ = p.conn.SetReadDeadline(deadline)
	}
	begun := time.Now()
	if _, err := p.conn.WriteTo(wire, p.to); err != nil {
		return 0, err
	}
	buf := make([]byte, 1500)
	for ctx.Err() == nil {
		n, from, err := p.conn.ReadFrom(buf)
		if err != nil {
			return 0, err
		}
		took := time.Since(begun)
		if p.isReply(buf[:n], from, seq) {
			return took, nil
		}
	}
	return 0, ctx.Err()
}

// isReply recognizes answers to this socket's requests: a raw socket receives
// all ICMP packets. On an unprivileged socket the system sets the id.
func (p *pings) isReply(wire []byte, from net.Addr, seq int) bool {
	m, err := icmp.ParseMessage(p.proto, wire)
	if err != nil || m.Type != p.reply {
		return false
	}
	echo, is := m.Body.(*icmp.Echo)
	return is && echo.Seq == seq && (!p.raw || echo.ID == p.id) && string(echo.Data) == string(p.token[:]) && addrOf(from) == p.addr.WithZone("")
}

func addrOf(a net.Addr) netip.Addr {
	var ip net.IP
	switch a := a.(type) {
	case *net.UDPAddr:
		ip = a.IP
	case *net.IPAddr:
		ip = a.IP
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}
