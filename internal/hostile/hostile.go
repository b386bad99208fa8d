// Package hostile has servers that do what no server should: they stall, drip,
// never end, or speak another protocol in the middle. Lanes that are called
// TestHostilePeers try them on everything that calls others.
//
// A server holds its connection until the other side has gone, and notes it: a
// caller that gave up and kept its socket is found by [Server.Open].
package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Peer is a way to be hostile. Talk ends when it can no longer write, or when
// the connection ends.
type Peer struct {
	Name string
	Talk func(c net.Conn)
}

// drip is the time between two pieces of what never ends.
const drip = 50 * time.Millisecond

// HTTP are peers that take a request, or do not, and answer it badly.
var HTTP = []Peer{
	{"takes the connection and says nothing", hold},
	{"switches protocols unasked", answering("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n", hold)},
	{"switches protocols unasked and talks on", answering("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n", dripping("x"))},
	{"early hints without end", answering("", dripping("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"))},
	{"continues without end", answering("", dripping("HTTP/1.1 100 Continue\r\n\r\n"))},
	{"a status line byte by byte", answering("", dripping("H"))},
	{"headers without end, slowly", answering("HTTP/1.1 200 OK\r\n", dripping("X-A: b\r\n"))},
	{"headers without end, fast", answering("HTTP/1.1 200 OK\r\n", flooding("X-A: "+strings.Repeat("b", 1000)+"\r\n"))},
	{"a body byte by byte", answering("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", dripping("x"))},
	{"a body that never comes", answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", hold)},
	{"a body without end or length", answering("HTTP/1.1 200 OK\r\n\r\n", dripping("x"))},
	{"chunks without end", answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", dripping("1\r\nx\r\n"))},
	{"a chunk's extension without end", answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", dripping("a"))},
	{"trailers without end", answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1\r\nx\r\n0\r\n", dripping("X: y\r\n"))},
	{"a body over its length", answering("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxx", hold)},
	{"a compressed body without end", answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", bomb)},
	{"a body without end, fast", answering("HTTP/1.1 200 OK\r\n\r\n", flooding(strings.Repeat("x", 4<<10)))},
	{"redirects without end", redirecting},
	{"a redirect whose body never ends", answering("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 100\r\n\r\n", dripping("x"))},
}

// TCP are peers for what is no HTTP, or speaks before it is asked.
var TCP = []Peer{
	{"takes the connection and says nothing", hold},
	{"a byte at a time", dripping("x")},
	{"a flood", flooding(strings.Repeat("x", 4<<10))},
	{"lines without end", dripping("220-x\r\n")},
	{"a TLS record that never ends", saying("\x16\x03\x03\x40\x00", dripping("\x02"))},
}

// SMTP are peers that greet and then stall.
var SMTP = []Peer{
	{"never greets", hold},
	{"greets without end", dripping("220-mail\r\n")},
	{"never says 250", saying("220 mail\r\n", hold)},
	{"says 250- without end", saying("220 mail\r\n", dripping("250-X\r\n"))},
	{"floods", saying("220 mail\r\n", flooding("250-"+strings.Repeat("x", 200)+"\r\n"))},
}

func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// answering waits for the end of a request's headers, and answers.
func answering(head string, then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if request(c) {
			saying(head, then)(c)
		}
	}
}

func request(c net.Conn) bool {
	buf, text := make([]byte, 4<<10), ""
	for !strings.Contains(text, "\r\n\r\n") {
		n, err := c.Read(buf)
		if err != nil {
			return false
		}
		text += string(buf[:n])
	}
	return true
}

func saying(head string, then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := io.WriteString(c, head); err == nil {
			then(c)
		}
	}
}

// dripping repeats a piece slowly until the other side has gone.
func dripping(piece string) func(net.Conn) {
	return func(c net.Conn) {
		gone := make(chan struct{})
		go func() { defer close(gone); hold(c) }()
		for {
			select {
			case <-gone:
				return
			case <-time.After(drip):
			}
			if _, err := io.WriteString(c, piece); err != nil {
				_ = c.Close()
			}
		}
	}
}

// flooding repeats a piece as fast as it is taken.
func flooding(piece string) func(net.Conn) {
	return func(c net.Conn) {
		gone := make(chan struct{})
		go func() { defer close(gone); hold(c) }()
		for {
			if _, err := io.WriteString(c, piece); err != nil {
				_ = c.Close()
				<-gone
				return
			}
		}
	}
}

// bomb is a compressed stream that has a thousand times its size, without end.
func bomb(c net.Conn) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	flooding(packed.String())(c)
}

// redirecting leads to another path of its own each time.
func redirecting(c net.Conn) {
	for i := 0; request(c); i++ {
		if _, err := fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: /%d-%d\r\nContent-Length: 0\r\n\r\n", time.Now().UnixNano(), i); err != nil {
			return
		}
	}
}

// Server serves a peer.
type Server struct {
	Address string
	mu      sync.Mutex
	open    int
}

// Serve serves a peer until the test ends.
func Serve(t testing.TB, p Peer) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: l.Addr().String()}
	var all sync.WaitGroup
	conns := map[net.Conn]bool{}
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for c := range conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open++
			conns[c] = true
			s.mu.Unlock()
			all.Go(func() {
				p.Talk(c)
				_ = c.Close()
				s.mu.Lock()
				s.open--
				delete(conns, c)
				s.mu.Unlock()
			})
		}
	})
	return s
}

// Open is how many connections callers hold.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Closed waits until callers have closed all their connections.
func (s *Server) Closed(t testing.TB, what string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.Open() > 0; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: %d connections are still open", what, s.Open())
			return
		}
	}
}
