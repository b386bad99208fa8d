package truth_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// known is a check and what it must read: how many delays each phase takes.
type known struct {
	check                             task.Task
	dns, tls, firstByte, transfer, of int // of: all together
	hops                              int
}

func TestKnownTruthLatencyOfEveryKind(t *testing.T) {
	t.Parallel()
	_, c := node(t)
	site, lateAddress := web(t), serve(t, banner)
	secured, ca := lateTLS(t)
	server, health := names(t), healthService(t)
	socket := strings.Replace(site.URL, "http", "ws", 1) + "/socket"
	kinds := map[string]known{
		"http, first byte":     {check: task.Task{HTTP: &task.HTTP{URL: site.URL + "/late"}}, firstByte: 1},
		"http, transfer":       {check: task.Task{HTTP: &task.HTTP{URL: site.URL + "/slow"}}, transfer: 1},
		"http, redirect":       {check: task.Task{HTTP: &task.HTTP{URL: site.URL + "/hop"}}, firstByte: 2, hops: 2},
		"http, kept":           {check: task.Task{HTTP: &task.HTTP{URL: site.URL + "/late", KeepAlive: true}}, firstByte: 1},
		"http, TLS":            {check: task.Task{HTTP: &task.HTTP{URL: "https://" + secured, CA: ca}}, tls: 1},
		"page, first byte":     {check: task.Task{Page: &task.PageCheck{URL: site.URL + "/late"}}, firstByte: 1},
		"page, transfer":       {check: task.Task{Page: &task.PageCheck{URL: site.URL + "/slow"}}, transfer: 1},
		"page, redirect":       {check: task.Task{Page: &task.PageCheck{URL: site.URL + "/hop"}}, firstByte: 2, hops: 2},
		"tcp, answer":          {check: task.Task{TCP: &task.TCP{Address: lateAddress, Expect: "hello"}}, firstByte: 1},
		"tls, handshake":       {check: task.Task{TLS: &task.TLS{Address: secured, CA: ca, WarnDays: -1}}, tls: 1},
		"dns, over UDP":        {check: task.Task{DNS: &task.DNS{Name: "a.example", Server: server}}, firstByte: 1},
		"dns, over TCP":        {check: task.Task{DNS: &task.DNS{Name: "a.example", Server: server, TCP: true}}, firstByte: 1},
		"grpc, answer":         {check: task.Task{GRPC: &task.GRPC{Address: health, Plaintext: true}}, firstByte: 1},
		"udp, answer":          {check: task.Task{UDP: &task.UDP{Address: lateDatagrams(t), Send: "hi", Expect: "late"}}, firstByte: 1},
		"websocket, upgrade":   {check: task.Task{WebSocket: &task.WebSocket{URL: socket}}, firstByte: 1},
		"websocket, a message": {check: task.Task{WebSocket: &task.WebSocket{URL: socket, Expect: "hello"}}, firstByte: 2},
	}
	for name, k := range kinds {
		k.of = k.tls + k.firstByte + k.transfer
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truly(t, func() []string {
				k.check.Timeout = core.Duration(20 * time.Second)
				k.check.Conditions = []string{fmt.Sprintf("latency < %s", time.Duration(k.of)*delay*17/10)}
				k.check.Warnings = []string{fmt.Sprintf("latency < %s", time.Duration(k.of)*delay*8/10)}
				m, err := c.Try(t.Context(), view.Trial{Check: &k.check})
				if err != nil {
					return []string{err.Error()}
				}
				return k.against(m.CheckResult)
			})
		})
	}
}

// against compares what a check measured. Its condition holds and its warning
// does not, so it is degraded.
func (k known) against(m task.CheckResult) (wrong []string) {
	if m.Outcome != task.CheckDegraded || m.Code != task.CodeAssertion {
		wrong = append(wrong, fmt.Sprintf("it is %s %s: %s", m.Outcome, m.Code, m.Message))
	}
	p := m.Phases
	wrong = append(wrong,
		near("the latency", m.Latency, time.Duration(k.of)*delay),
		near("the look-up", p.DNS, time.Duration(k.dns)*delay),
		near("the connection", p.Connect, 0),
		near("the handshake", p.TLS, time.Duration(k.tls)*delay),
		near("the wait for the first byte", p.FirstByte, time.Duration(k.firstByte)*delay),
		near("the transfer", p.Transfer, time.Duration(k.transfer)*delay))
	if sum := p.DNS + p.Connect + p.TLS + p.FirstByte + p.Transfer; m.Latency > 0 && (sum > m.Latency || (m.Latency-sum).D() > slack) {
		wrong = append(wrong, fmt.Sprintf("the phases are %s together, and the latency is %s", sum, m.Latency))
	}
	if len(m.Hops) != k.hops {
		wrong = append(wrong, fmt.Sprintf("it has %d hops, and in truth %d", len(m.Hops), k.hops))
	}
	for _, h := range m.Hops {
		wrong = append(wrong, near("hop "+h.URL, h.Took, delay))
	}
	return slices.DeleteFunc(wrong, func(text string) bool { return text == "" })
}

// TestKnownTruthLookUp has a resolver of its own that answers late, which a node
// has not.
func TestKnownTruthLookUp(t *testing.T) {
	t.Parallel()
	server, site, speaks := names(t), web(t), serve(t, banner)
	ex := probe.New(probe.Options{Guard: guard.Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server)
		}},
	}})
	t.Cleanup(ex.Close)
	u, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(speaks)
	if err != nil {
		t.Fatal(err)
	}
	for name, task := range map[string]task.Task{
		"http": {HTTP: &task.HTTP{URL: "http://slow.example:" + u.Port() + "/"}},
		"tcp":  {TCP: &task.TCP{Address: "slow.example:" + port}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truly(t, func() []string {
				task.Name, task.Timeout = "look", core.Duration(20*time.Second)
				m := ex.Check(t.Context(), task)
				k := known{dns: 1, of: 1}
				return slices.DeleteFunc(k.against(m), func(text string) bool { return strings.HasPrefix(text, "it is ") })
			})
		})
	}
}
