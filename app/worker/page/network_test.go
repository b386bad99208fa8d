package page

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func TestOneHostIsNotAskedByManyAtOnce(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 10), make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "x")
	})
	e := New(Options{Guard: loopback, PerHost: 1})
	defer e.Close()
	first := make(chan task.CheckResult)
	go func() { first <- e.Check(t.Context(), pageTask(task.PageCheck{URL: url})) }()
	<-arrived
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, worker.ErrTimeout)
	defer cancel()
	m := e.Check(ctx, pageTask(task.PageCheck{URL: url + "/second"}))
	want(t, m, task.CheckError, task.CodeLate)
	if m.Latency != 0 {
		t.Errorf("a wait of ours is a latency of %s", m.Latency)
	}
	close(release)
	want(t, <-first, task.CheckOK, "")
}

// Half up is not up: the address that is dialed is the first, and there is no
// second.
func TestOneAddressIsDialed(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })
	port := url[strings.LastIndex(url, ":")+1:]
	e := New(Options{Guard: guard.Options{
		Allow:    []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Resolver: resolver(t, "dead.example. 1 IN A 127.0.0.2", "dead.example. 1 IN A 127.0.0.1", "good.example. 1 IN A 127.0.0.1"),
	}})
	defer e.Close()
	want(t, e.Check(t.Context(), pageTask(task.PageCheck{URL: "http://good.example.:" + port})), task.CheckOK, "")
	m := e.Check(t.Context(), pageTask(task.PageCheck{URL: "http://dead.example.:" + port}))
	want(t, m, task.CheckFail, task.CodeConnectRefused)
	if m.IP != "127.0.0.2" {
		t.Errorf("%+v", m)
	}
}

// resolver knows these records, in their order.
func resolver(t *testing.T, records ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started, done := make(chan struct{}), make(chan struct{})
	server := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		for _, text := range records {
			if rr, err := dns.NewRR(text); err == nil && rr.Header().Name == q.Question[0].Name && rr.Header().Rrtype == q.Question[0].Qtype {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		_ = w.WriteMsg(reply)
	})}
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}
