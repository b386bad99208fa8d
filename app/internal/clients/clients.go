// Package clients limits the open connections of a server. [Listener] counts
// them by address: when it is full, idle connections of the address with the
// most are closed first, so that one address cannot keep out the others.
package clients

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// Listener gives each connection a place out of a fixed number. The server must report the states of connections to
// [Listener.State].
//
// If all places are taken, a new connection replaces an idle connection of the address with the most connections: clients
// must expect that an idle connection is closed. Without an idle one, it waits until a connection is closed. An address has
// at most half of the places; its further connections are closed.
type Listener struct {
	net.Listener
	most    int
	trusted []netip.Prefix

	mu      sync.Mutex
	changed *sync.Cond // signals a free or idle place, or the end of the listener
	taken   int
	closed  bool
	peers   map[netip.Prefix]*peer

	running  int                  // requests of HTTP/2 in progress
	requests map[netip.Prefix]int // requests in progress by address
}

// peer is an IPv4 address, or the IPv6 network of one client.
type peer struct {
	open int
	idle *list.List // of idle *conn, the longest idle first
}

// conn is a connection with a place.
type conn struct {
	net.Conn
	of   *Listener
	from netip.Prefix
	idle *list.Element // in the list of its peer, while the connection is idle
	gone bool
}

// Limit limits ln to so many places. A trusted proxy, which forwards the requests of many clients, may have all of them.
func Limit(ln net.Listener, most int, trusted []netip.Prefix) *Listener {
	l := &Listener{Listener: ln, most: most, trusted: trusted, peers: map[netip.Prefix]*peer{}, requests: map[netip.Prefix]int{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept returns the next connection that gets a place.
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

// enter gives a connection a place, or refuses it. The caller closes out: the refused connection, or the replaced one.
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

// heaviest returns the address with the most connections among those with an idle one; nil if there is no idle connection.
func (l *Listener) heaviest() (most *peer) {
	for _, p := range l.peers {
		if p.idle.Len() > 0 && (most == nil || p.open > most.open) {
			most = p
		}
	}
	return most
}

// makeRoom frees the place of the longest idle connection of an address, and returns the connection for the caller to close.
func (l *Listener) makeRoom(p *peer) net.Conn {
	if p == nil || p.idle.Len() == 0 {
		return nil
	}
	c := p.idle.Front().Value.(*conn) //nolint:forcetypeassert // the list holds only *conn
	l.leave(c)
	return c.Conn
}

// leave frees the place of a connection, once.
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
	if secure, is := nc.(interface{ NetConn() net.Conn }); is { // a TLS connection
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

// Close closes the connection and frees its place.
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

// peerOf returns the address of a connection, and whether it is a trusted proxy. A connection without an address has no limit
// by address.
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
	from, _ = at.Prefix(bits) // cannot fail: bits fits the address
	return from, slices.ContainsFunc(l.trusted, func(p netip.Prefix) bool { return p.Contains(at) })
}
