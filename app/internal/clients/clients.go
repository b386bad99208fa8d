// Package clients bounds the open connections of a server, so that an address with many leaves places for others.
package clients

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Listener gives each connection one of a number of places. Its server must report what they do to [Listener.State].
//
// When all places are taken, a new connection gets that of one without a request, of the address that has the most
// connections: clients expect at any time that such a one is closed. Without one, it waits until another connection is
// closed. An address has half of the places at most, however busy its connections are; beyond that they are closed.
type Listener struct {
	net.Listener
	most    int
	trusted []netip.Prefix

	mu      sync.Mutex
	changed *sync.Cond // a place is free or can be made, or the listener is closed
	taken   int
	closed  bool
	peers   map[netip.Prefix]*peer

	running  int                  // requests of HTTP/2 under way
	requests map[netip.Prefix]int // the same by address
}

// peer is an address; of IPv6, the network that one client has.
type peer struct {
	open int
	idle *list.List // of *conn without a request, the longest first
}

// conn is a connection that has a place.
type conn struct {
	net.Conn
	of   *Listener
	from netip.Prefix
	idle *list.Element // in the list of its peer, if it has no request
	gone bool
}

// Limit is ln with so many places. A trusted proxy, which brings the requests of others, may have all of them.
func Limit(ln net.Listener, most int, trusted []netip.Prefix) *Listener {
	l := &Listener{Listener: ln, most: most, trusted: trusted, peers: map[netip.Prefix]*peer{}, requests: map[netip.Prefix]int{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept answers the next connection that gets a place.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, in, out := l.enter(nc)
		if out != nil {
			_ = out.Close()
		}
		if in {
			return c, nil
		}
	}
}

// enter gives a connection a place, or refuses it. It is to be closed then, or the one whose place it has.
func (l *Listener) enter(nc net.Conn) (c *conn, in bool, out net.Conn) {
	from, proxy := l.peerOf(nc.RemoteAddr().String())
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.peers[from]; p != nil && !proxy && p.open >= max(1, l.most/2) {
		if out = l.makeRoom(p); out == nil {
			return nil, false, nc
		}
	}
	for l.taken >= l.most && !l.closed {
		if out = l.makeRoom(l.heaviest()); out == nil {
			l.changed.Wait()
		}
	}
	if l.closed {
		return nil, false, nc
	}
	if l.peers[from] == nil {
		l.peers[from] = &peer{idle: list.New()}
	}
	p := l.peers[from]
	c = &conn{Conn: nc, of: l, from: from}
	c.idle = p.idle.PushBack(c)
	p.open++
	l.taken++
	return c, true, out
}

// heaviest is the address with the most connections, of those that have one without a request; nil if none has.
func (l *Listener) heaviest() (most *peer) {
	for _, p := range l.peers {
		if p.idle.Len() > 0 && (most == nil || p.open > most.open) {
			most = p
		}
	}
	return most
}

// makeRoom takes the place of the connection of an address that has had no request for the longest, which is to be closed.
func (l *Listener) makeRoom(p *peer) net.Conn {
	if p == nil || p.idle.Len() == 0 {
		return nil
	}
	c := p.idle.Front().Value.(*conn) //nolint:forcetypeassert // nothing else is in the list
	l.leave(c)
	return c.Conn
}

// leave gives back the place of a connection, once.
func (l *Listener) leave(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	p := l.peers[c.from]
	l.busy(p, c)
	if p.open--; p.open == 0 {
		delete(l.peers, c.from)
	}
	l.taken--
	l.changed.Signal()
}

func (l *Listener) busy(p *peer, c *conn) {
	if c.idle != nil {
		p.idle.Remove(c.idle)
		c.idle = nil
	}
}

// State is for [http.Server.ConnState].
func (l *Listener) State(nc net.Conn, state http.ConnState) {
	if secure, is := nc.(interface{ NetConn() net.Conn }); is { // of TLS
		nc = secure.NetConn()
	}
	c, is := nc.(*conn)
	if !is {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.gone:
	case state == http.StateActive:
		l.busy(l.peers[c.from], c)
	case state == http.StateIdle && c.idle == nil:
		c.idle = l.peers[c.from].idle.PushBack(c)
		l.changed.Signal()
	}
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.leave(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// Close ends Accept, also while it waits for a place.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Signal()
	l.mu.Unlock()
	return l.Listener.Close()
}

// peerOf is the address of a connection, and whether it is a trusted proxy. What has none is not bounded by it.
func (l *Listener) peerOf(addr string) (from netip.Prefix, proxy bool) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return netip.Prefix{}, true
	}
	at := ap.Addr().Unmap().WithZone("")
	bits := at.BitLen()
	if at.Is6() {
		bits = 64
	}
	from, _ = at.Prefix(bits) // cannot fail: the bits are those of the address
	return from, slices.ContainsFunc(l.trusted, func(p netip.Prefix) bool { return p.Contains(at) })
}
