package truth_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// delay is what each target waits in one phase.
const delay = 400 * time.Millisecond

func pause() { <-time.After(delay) }

// web is a server whose first byte is late at /late, whose body is late at
// /slow, and which leads twice to elsewhere at /hop, each hop late.
func web(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
		pause()
		_, _ = io.WriteString(w, "late")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "slow")
		w.(http.Flusher).Flush()
		pause()
		_, _ = io.WriteString(w, "ly")
	})
	mux.HandleFunc("/hop", func(w http.ResponseWriter, r *http.Request) {
		pause()
		http.Redirect(w, r, "/late", http.StatusFound)
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		pause()
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		pause()
		_ = c.Write(r.Context(), websocket.MessageText, []byte("hello"))
		_, _, _ = c.Read(r.Context())
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// serve answers connections by hand.
func serve(t *testing.T, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				handle(c)
			})
		}
	})
	return l.Addr().String()
}

// banner speaks late.
func banner(c net.Conn) {
	pause()
	_, _ = io.WriteString(c, "hello\n")
	_, _ = io.Copy(io.Discard, c)
}

// lateTLS takes its time for the handshake and then speaks HTTP.
func lateTLS(t *testing.T) (address, ca string) {
	t.Helper()
	lender := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(lender.Close)
	config := &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"http/1.1"}}
	address = serve(t, func(c net.Conn) {
		pause()
		secured := tls.Server(c, config)
		if secured.Handshake() != nil {
			return
		}
		buf := make([]byte, 4<<10)
		if _, err := secured.Read(buf); err != nil {
			return
		}
		_, _ = io.WriteString(secured, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	})
	return address, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw}))
}

// names is a DNS server that answers late, over UDP and TCP at one address.
func names(t *testing.T) (address string) {
	t.Helper()
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA { // some resolvers ask for one type after the other
			pause()
			rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A 127.0.0.1")
			if err != nil {
				panic(err)
			}
			m.Answer = []dns.RR{rr}
		}
		_ = w.WriteMsg(m)
	})
	stream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", stream.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for _, s := range []*dns.Server{{Listener: stream, Handler: answer}, {PacketConn: packets, Handler: answer}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		all.Go(func() { _ = s.ActivateAndServe() })
		<-started
		t.Cleanup(func() { _ = s.Shutdown() })
	}
	return stream.Addr().String()
}

// lateDatagrams answers each datagram late.
func lateDatagrams(t *testing.T) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = conn.Close(); all.Wait() })
	all.Go(func() {
		buf := make([]byte, 1<<10)
		for {
			_, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			pause()
			_, _ = conn.WriteTo([]byte("late"), from)
		}
	})
	return conn.LocalAddr().String()
}

// lateHealth is a health service that answers late.
type lateHealth struct {
	grpc_health_v1.UnimplementedHealthServer
}

func (lateHealth) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	pause()
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func healthService(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, lateHealth{})
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-ended })
	return l.Addr().String()
}
