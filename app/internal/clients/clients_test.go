package clients

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// door hands out connections from addresses that a test chooses.
type door struct{ come chan net.Conn }

func (d door) Accept() (net.Conn, error) {
	c, open := <-d.come
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (d door) Close() error   { close(d.come); return nil }
func (d door) Addr() net.Addr { return &net.TCPAddr{} }

type from struct {
	net.Conn
	at netip.AddrPort
}

func (f from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(f.at) }

// world is a listener and what it has let in.
type world struct {
	l  *Listener
	d  door
	in chan net.Conn
}

func begin(most int, proxies ...netip.Prefix) *world {
	w := &world{d: door{make(chan net.Conn)}, in: make(chan net.Conn, 100)}
	w.l = Limit(w.d, most, proxies)
	go func() {
		defer close(w.in)
		for {
			c, err := w.l.Accept()
			if err != nil {
				return
			}
			w.in <- c
		}
	}()
	return w
}

// end closes the listener.
func (w *world) end(t *testing.T) {
	t.Helper()
	if err := w.l.Close(); err != nil {
		t.Error(err)
	}
	synctest.Wait()
}

// come is a client of an address that connects, and the server's side of it, or nil.
func (w *world) come(at string) (client, server net.Conn) {
	client, end := net.Pipe()
	w.d.come <- from{end, netip.MustParseAddrPort(at)}
	synctest.Wait()
	select {
	case server = <-w.in:
	default:
	}
	return client, server
}

// closed reports that the server has closed a client's connection.
func closed(client net.Conn) bool {
	return errors.Is(client.SetReadDeadline(time.Time{}), io.ErrClosedPipe)
}

func TestIdleConnectionsOfAnAddressWithManyMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(8)
		defer w.end(t)
		other, _ := w.come("192.0.2.9:1")
		second, _ := w.come("192.0.2.8:1")
		third, _ := w.come("192.0.2.7:1")
		var flood []net.Conn
		for range 4 {
			c, _ := w.come("192.0.2.1:5")
			flood = append(flood, c)
		}
		for range 3 { // one more place is free, and these take those of the flood's own
			c, in := w.come("192.0.2.1:5")
			if in == nil {
				t.Fatal("an address with idle connections gets no other")
			}
			flood = append(flood, c)
		}
		for _, at := range []string{"192.0.2.2:1", "192.0.2.3:1"} { // the second finds all places taken
			if _, in := w.come(at); in == nil {
				t.Fatalf("%s gets no place beside idle connections", at)
			}
		}
		if got := []bool{closed(other), closed(second), closed(third)}; slices.Contains(got, true) {
			t.Errorf("connections of addresses with one were closed: %v", got)
		}
		for i, c := range flood {
			if got, want := closed(c), i < 4; got != want {
				t.Errorf("connection %d of the flood is closed: %v, want %v", i, got, want)
			}
		}
	})
}

func TestABusyAddressHasHalfOfThePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(4, netip.MustParsePrefix("198.51.100.0/24"))
		defer w.end(t)
		busy := func(at string) (net.Conn, net.Conn) {
			c, in := w.come(at)
			if in != nil {
				w.l.State(in, http.StateActive)
			}
			return c, in
		}
		first, one := busy("[2001:db8::1]:1")
		_, _ = busy("[2001:db8::2]:1") // of the same network
		if c, in := busy("[2001:db8::3]:1"); in != nil || !closed(c) {
			t.Error("an address has more than half of the places")
		}
		for range 2 {
			if _, in := busy("198.51.100.1:1"); in == nil {
				t.Fatal("another address gets no place")
			}
		}
		// All are taken and busy: the next waits until one is done.
		if c, in := w.come("198.51.100.1:1"); in != nil || closed(c) {
			t.Fatal("a connection beyond the limit does not wait")
		}
		w.l.State(one, http.StateIdle)
		synctest.Wait()
		if in := <-w.in; in == nil || !closed(first) {
			t.Error("the connection that waited has not got the place of one without a request")
		}
		if err := one.Close(); err != nil || w.l.taken != 4 {
			t.Errorf("a place is given back twice: %d taken, %v", w.l.taken, err)
		}
	})
}

func TestAConnectionThatWaitsEndsWithTheListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(1)
		_, in := w.come("192.0.2.1:1")
		w.l.State(in, http.StateActive)
		c, _ := w.come("192.0.2.2:1")
		w.end(t)
		if !closed(c) {
			t.Error("it is still open")
		}
	})
}
