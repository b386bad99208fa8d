package clients

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stingy is a client of HTTP/2 that asks and takes no byte of a body.
type stingy struct {
	*http2.Framer
	next uint32
}

func newStingy(t *testing.T, address string) *stingy {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // of a test's own server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := &stingy{http2.NewFramer(c, c), 1}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	return s
}

// ask answers whether a request got the headers of an answer, and not a reset.
func (s *stingy) ask(t *testing.T) (id uint32, answered bool) {
	t.Helper()
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "GET"}, {":path", "/"}, {":scheme", "https"}, {":authority", "a"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	id = s.next
	s.next += 2
	if err := s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := s.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if f.Header().StreamID == id {
			_, reset := f.(*http2.RSTStreamFrame)
			return id, !reset
		}
	}
}

// Requests of HTTP/2 whose small answers are not taken count as long as they wait, on whichever connection.
func TestRequestsOfHTTP2AreBounded(t *testing.T) {
	s := httptest.NewUnstartedServer(nil)
	l := Limit(s.Listener, 4, nil)
	left := make(chan struct{}, 10)
	bounded := l.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		bounded.ServeHTTP(w, r)
	})
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close) // after the clients, for which it waits
	address := s.Listener.Addr().String()
	a, b := newStingy(t, address), newStingy(t, address)
	first, answered := a.ask(t)
	if _, second := b.ask(t); !answered || !second {
		t.Fatal("two requests of four places are not answered")
	}
	for _, c := range []*stingy{a, b} {
		if _, answered := c.ask(t); answered {
			t.Error("an address has more than half of the places")
		}
		<-left
	}
	if err := a.WriteRSTStream(first, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	<-left
	if _, answered := b.ask(t); !answered {
		t.Error("what a request had is not given back")
	}
}

// HTTP/1 has a connection for each request, which has a place, and answers keep their length.
func TestRequestsOfHTTP1AreNotCounted(t *testing.T) {
	l := Limit(nil, 1, nil)
	h := l.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(l.requests) > 0 {
			t.Error("it is counted")
		}
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Flushed {
		t.Error("its answer is sent early")
	}
}
