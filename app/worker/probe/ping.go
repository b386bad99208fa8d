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

// slowestPing is when a request counts as lost.
const slowestPing = 2 * time.Second

// ping sends echo requests, one after another: the next goes out when the
// answer to the one before is there, or its part of the time is over.
func (l *look) ping(ctx context.Context) *reach.Fault {
	g := l.Task.Ping
	leave, f := l.Turn(ctx, g.Host)
	if f != nil {
		return f
	}
	defer leave()
	trip := l.Trip()
	trip.Enter(reach.StageDNS)
	addr, err := l.e.net.Resolve(ctx, g.Host, g.Family)
	if err == nil {
		trip.Dials(addr)
		err = l.e.net.Permit(addr)
	}
	if err != nil {
		return l.NetFault(ctx, trip, err)
	}
	trip.Enter(reach.StageTurn)
	pings, err := openPings(addr)
	if err != nil {
		return l.pingFault(ctx, trip, err)
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
			return l.NetFault(ctx, trip, err)
		case !reach.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded):
			return l.pingFault(ctx, trip, err)
		}
	}
	trip.End()
	return l.judgePings(times)
}

// judgePings has the mean of what came back for its latency.
func (l *look) judgePings(times []time.Duration) *reach.Fault {
	g := l.Task.Ping
	lost := g.Count - len(times)
	l.Facts.Loss = 100 * float64(lost) / float64(g.Count)
	l.Answered = true
	var sum time.Duration
	for i, took := range times {
		sum += took
		if i == 0 || took < l.Facts.RTTMin {
			l.Facts.RTTMin = took
		}
		l.Facts.RTTMax = max(l.Facts.RTTMax, took)
	}
	if len(times) > 0 {
		l.Facts.RTT = sum / time.Duration(len(times))
		l.Mean = l.Facts.RTT
	}
	if lost > 0 && 100*lost > g.MaxLoss*g.Count {
		return reach.Failing(task.CodeLoss, "%d of %d requests had no answer", lost, g.Count)
	}
	return nil
}

func (l *look) pingFault(ctx context.Context, trip *reach.Trip, err error) *reach.Fault {
	if reach.Is(err, syscall.EPERM, syscall.EACCES, syscall.EPROTONOSUPPORT, syscall.EAFNOSUPPORT) {
		f := reach.Ours(task.CodeUnsupported, "this machine does not let the worker send pings: allow its group (sysctl net.ipv4.ping_group_range), or give it CAP_NET_RAW")
		f.Err = err
		return f
	}
	trip.Enter(reach.StageConnect)
	return l.NetFault(ctx, trip, err)
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

// openPings takes the socket that needs no privilege, where the system has
// opened it for the worker's group, or else the raw one.
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

// ping is the time of one request and its answer.
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

// isReply knows our answers among all that a raw socket hears. The system
// chooses the id of the other kind itself.
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
