package probe_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/miekg/dns"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/task"
)

// nameserver answers over UDP and TCP on one port.
func nameserver(t *testing.T, handle dns.HandlerFunc) (address string) {
	t.Helper()
	for range 20 {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", packets.LocalAddr().String())
		if err != nil {
			_ = packets.Close()
			continue
		}
		for _, s := range []*dns.Server{{PacketConn: packets, Handler: handle}, {Listener: l, Handler: handle}} {
			started, ended := make(chan struct{}), make(chan struct{})
			s.NotifyStartedFunc = func() { close(started) }
			go func() { defer close(ended); _ = s.ActivateAndServe() }()
			<-started
			t.Cleanup(func() { _ = s.Shutdown(); <-ended })
		}
		return packets.LocalAddr().String()
	}
	t.Fatal("no port that is free for both")
	return ""
}

// zone is a server that knows these records.
func zone(t *testing.T, records ...string) string {
	return nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		known := false
		for _, text := range records {
			rr, err := dns.NewRR(text)
			if err != nil {
				t.Error(err)
			}
			if strings.EqualFold(rr.Header().Name, q.Question[0].Name) {
				known = true
				if rr.Header().Rrtype == q.Question[0].Qtype || rr.Header().Rrtype == dns.TypeCNAME {
					m.Answer = append(m.Answer, rr)
				}
			}
		}
		if !known {
			m.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(m)
	})
}

func TestDNS(t *testing.T) {
	t.Parallel()
	server := zone(t,
		"example.com. 300 IN A 192.0.2.1", "example.com. 60 IN A 192.0.2.2", "example.com. IN AAAA 2001:db8::1",
		"example.com. IN MX 10 mail.example.com.", "example.com. IN NS ns1.example.com.", `example.com. IN TXT "v=spf1" " -all"`,
		"example.com. IN SOA ns1.example.com. root.example.com. 1 2 3 4 5", `example.com. IN CAA 0 issue "ca.example"`,
		"_sip._tcp.example.com. IN SRV 1 2 5060 sip.example.com.", "www.example.com. IN CNAME example.com.", "1.2.0.192.in-addr.arpa. IN PTR example.com.",
	)
	for name, c := range map[string]struct {
		dns     task.DNS
		holds   string
		outcome task.CheckOutcome
		code    task.CheckCode
		text    string
	}{
		"A":            {task.DNS{Name: "example.com"}, "len(answers) == 2 and ttl == 60 and rcode == 'NOERROR'", task.CheckOK, "", ""},
		"some":         {task.DNS{Name: "Example.COM.", Expect: []string{"192.0.2.2"}}, "", task.CheckOK, "", ""},
		"all":          {task.DNS{Name: "example.com", Expect: []string{"192.0.2.2", "192.0.2.1"}, Exact: true}, "", task.CheckOK, "", ""},
		"too many":     {task.DNS{Name: "example.com", Expect: []string{"192.0.2.2"}, Exact: true}, "", task.CheckFail, task.CodeExpect, "did not expect 192.0.2.1"},
		"other":        {task.DNS{Name: "example.com", Expect: []string{"192.0.2.3"}}, "", task.CheckFail, task.CodeExpect, "expected 192.0.2.3, got 192.0.2.1, 192.0.2.2"},
		"AAAA":         {task.DNS{Name: "example.com", Type: "AAAA", Expect: []string{"2001:DB8:0::1"}}, "", task.CheckOK, "", ""},
		"MX":           {task.DNS{Name: "example.com", Type: "mx", Expect: []string{"10 MAIL.example.com"}}, "", task.CheckOK, "", ""},
		"NS":           {task.DNS{Name: "example.com", Type: "NS", Expect: []string{"ns1.example.com"}}, "", task.CheckOK, "", ""},
		"TXT":          {task.DNS{Name: "example.com", Type: "TXT", Expect: []string{"v=spf1 -all"}}, "answers[0] matches '^v=spf1'", task.CheckOK, "", ""},
		"SOA":          {task.DNS{Name: "example.com", Type: "SOA", Expect: []string{"ns1.example.com. root.example.com. 1 2 3 4 5"}}, "", task.CheckOK, "", ""},
		"CAA":          {task.DNS{Name: "example.com", Type: "CAA", Expect: []string{`0 issue "ca.example"`}}, "", task.CheckOK, "", ""},
		"SRV":          {task.DNS{Name: "_sip._tcp.example.com", Type: "SRV", Expect: []string{"1 2 5060 sip.example.com."}}, "", task.CheckOK, "", ""},
		"CNAME":        {task.DNS{Name: "www.example.com", Type: "CNAME", Expect: []string{"example.com"}}, "", task.CheckOK, "", ""},
		"PTR":          {task.DNS{Name: "192.0.2.1", Type: "PTR", Expect: []string{"example.com"}}, "", task.CheckOK, "", ""},
		"over TCP":     {task.DNS{Name: "example.com", TCP: true}, "", task.CheckOK, "", ""},
		"no such name": {task.DNS{Name: "none.example.com"}, "", task.CheckFail, task.CodeDNSNotFound, "does not exist"},
		"must not be":  {task.DNS{Name: "none.example.com"}, "rcode == 'NXDOMAIN'", task.CheckOK, "", ""},
		"is after all": {task.DNS{Name: "example.com"}, "rcode == 'NXDOMAIN'", task.CheckFail, task.CodeAssertion, "NOERROR"},
		"is, and not":  {task.DNS{Name: "none.example.com", Expect: []string{"192.0.2.1"}}, "rcode in ['NOERROR', 'NXDOMAIN']", task.CheckFail, task.CodeDNSNotFound, "does not exist"},
		"no such type": {task.DNS{Name: "www.example.com", Type: "MX"}, "", task.CheckFail, task.CodeExpect, "has no record of type MX"},
		"condition":    {task.DNS{Name: "example.com"}, "ttl >= 300", task.CheckFail, task.CodeAssertion, "ttl = 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.dns.Server = server
			task := task.Task{DNS: &c.dns}
			if c.holds != "" {
				task.Conditions = []string{c.holds}
			}
			m := look(t, task)
			wants(t, m, c.outcome, c.code, c.text)
			if m.IP != "127.0.0.1" || m.Latency <= 0 {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestNameserversThatMisbehave(t *testing.T) {
	t.Parallel()
	rcode := func(code int) string {
		return nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(q, code)) })
	}
	other := nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
		q.Question[0].Name = "other.example."
		_ = w.WriteMsg(new(dns.Msg).SetReply(q))
	})
	cut := nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
			m.Truncated = true
		} else {
			rr, _ := dns.NewRR(q.Question[0].Name + " IN A 192.0.2.1")
			m.Answer = append(m.Answer, rr)
		}
		_ = w.WriteMsg(m)
	})
	cutAlone, err := net.ListenPacket("udp", "127.0.0.1:0") // and nothing listens to TCP
	if err != nil {
		t.Fatal(err)
	}
	onlyUDP := &dns.Server{PacketConn: cutAlone, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Truncated = true
		_ = w.WriteMsg(m)
	})}
	go func() { _ = onlyUDP.ActivateAndServe() }()
	t.Cleanup(func() { _ = onlyUDP.Shutdown() })
	var drops atomic.Int32
	lossy := nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
		if drops.Add(1)%3 != 0 {
			return
		}
		rr, _ := dns.NewRR(q.Question[0].Name + " IN A 192.0.2.1")
		m := new(dns.Msg).SetReply(q)
		m.Answer = append(m.Answer, rr)
		_ = w.WriteMsg(m)
	})
	ask := func(server string) task.Task {
		return task.Task{DNS: &task.DNS{Name: "example.com", Server: server}}
	}
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	wants(t, look(t, ask(rcode(dns.RcodeServerFailure))), task.CheckFail, task.CodeDNSFailed, "SERVFAIL")
	wants(t, look(t, ask(rcode(dns.RcodeRefused))), task.CheckFail, task.CodeDNSFailed, "REFUSED")
	bare := func(code int) string { // a refusal that does not repeat the question
		return nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetRcode(q, code)
			m.Question = nil
			_ = w.WriteMsg(m)
		})
	}
	wants(t, look(t, ask(bare(dns.RcodeFormatError))), task.CheckFail, task.CodeDNSFailed, "the server answered FORMERR")
	wants(t, look(t, ask(bare(dns.RcodeRefused))), task.CheckFail, task.CodeDNSFailed, "the server answered REFUSED")
	wants(t, look(t, ask(bare(dns.RcodeNameError))), task.CheckFail, task.CodeDNSFailed, "another question")
	wants(t, look(t, ask(other)), task.CheckFail, task.CodeDNSFailed, "another question")
	wants(t, look(t, ask(cut)), task.CheckOK, "", "")
	wants(t, look(t, ask(cutAlone.LocalAddr().String())), task.CheckFail, task.CodeConnectRefused, "the answer over UDP is cut off, and over TCP the target refused the connection")
	wants(t, look(t, ask(closed.LocalAddr().String())), task.CheckFail, task.CodeConnectRefused, "")
	wants(t, look(t, ask("127.0.0.2")), task.CheckError, task.CodeBlocked, "")
	wants(t, stalls(t, ask(nameserver(t, func(dns.ResponseWriter, *dns.Msg) {})), task.CodeDNSTimeout), task.CheckFail, task.CodeDNSTimeout, "did not answer")
	stalls(t, ask(lossy), "") // two of three packets are lost: good in the end
}

// The worker's own resolvers are the operator's choice, and not guarded.
func TestDNSAsksTheSystemsServers(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	use := func(o *probe.Options) { o.ResolvConf = conf }
	wants(t, look(t, task.Task{DNS: &task.DNS{Name: "example.com"}}, use), task.CheckError, task.CodeNetwork, "no resolver")
	if err := os.WriteFile(conf, []byte("nameserver 127.0.0.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A file of this kind has no ports, and nobody listens on this one.
	m := look(t, task.Task{DNS: &task.DNS{Name: "example.com"}}, use)
	if wants(t, m, task.CheckError, task.CodeNetwork, "127.0.0.9:53 cannot be reached"); m.IP != "127.0.0.9" {
		t.Errorf("%+v", m)
	}
}

// resolver asks a server of ours, whatever the system would ask. A look-up that
// is given up ends at once, and not when the server should have answered.
func resolver(server string) func(*probe.Options) {
	return func(o *probe.Options) {
		o.Guard.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, server)
			if err == nil {
				context.AfterFunc(ctx, func() { _ = conn.Close() })
			}
			return conn, err
		}}
	}
}

func TestNamesThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	rcode := func(code int) func(*probe.Options) {
		return resolver(nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(q, code)) }))
	}
	broken := func(err error) func(*probe.Options) {
		return func(o *probe.Options) {
			o.Guard.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("connect", err)}
			}}
		}
	}
	tasks := []task.Task{
		get("http://target.example/"), {TCP: &task.TCP{Address: "target.example:80"}}, {TLS: &task.TLS{Address: "target.example"}},
		{Ping: &task.Ping{Host: "target.example"}}, {GRPC: &task.GRPC{Address: "target.example:80", Plaintext: true}},
		{WebSocket: &task.WebSocket{URL: "ws://target.example/"}}, {DNS: &task.DNS{Name: "a.example", Server: "target.example"}},
	}
	notFound, failing, gone, cutOff := rcode(dns.RcodeNameError), rcode(dns.RcodeServerFailure), broken(syscall.ECONNREFUSED), broken(syscall.ENETUNREACH)
	silent := resolver(nameserver(t, func(dns.ResponseWriter, *dns.Msg) {}))
	for _, tk := range tasks {
		wants(t, look(t, tk, notFound), task.CheckFail, task.CodeDNSNotFound, "target.example")
		wants(t, look(t, tk, failing), task.CheckFail, task.CodeDNSFailed, "target.example")
		wants(t, look(t, tk, gone), task.CheckError, task.CodeNetwork, "resolver")
		wants(t, look(t, tk, cutOff), task.CheckError, task.CodeNetwork, "unreachable")
		wants(t, stalls(t, tk, task.CodeDNSTimeout, silent), task.CheckFail, task.CodeDNSTimeout, "")
	}
}

// A name that resolves to an allowed address when it is looked at, and to a
// denied one when it is dialed, finds one look-up, whose answer is dialed, and
// a guard that looks at what is dialed.
func TestANameThatChangesItsAnswer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answers := map[string]int{}
	flips := nameserver(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		name := q.Question[0].Name
		if q.Question[0].Qtype == dns.TypeA {
			mu.Lock()
			answers[name]++
			ip := "127.0.0.1"
			if answers[name]%2 == 0 {
				ip = "127.0.0.2"
			}
			mu.Unlock()
			rr, _ := dns.NewRR(fmt.Sprintf("%s 0 IN A %s", name, ip))
			m.Answer = append(m.Answer, rr)
		}
		_ = w.WriteMsg(m)
	})
	s := serve(t, nothing)
	_, port, _ := net.SplitHostPort(addressOf(s))
	for i, tk := range []task.Task{
		get("http://name0.example:" + port), {TCP: &task.TCP{Address: "name1.example:" + port}},
		{GRPC: &task.GRPC{Address: "name2.example:" + port, Plaintext: true}}, {WebSocket: &task.WebSocket{URL: "ws://name3.example:" + port}},
	} {
		first, second := look(t, tk, resolver(flips)), look(t, tk, resolver(flips))
		if first.Outcome == task.CheckError || first.IP != "127.0.0.1" {
			t.Errorf("%+v", first)
		}
		wants(t, second, task.CheckError, task.CodeBlocked, "may not be reached")
		if second.IP != "" {
			t.Errorf("it shows what the name stands for within the network: %s", second.IP)
		}
		mu.Lock()
		if n := answers[fmt.Sprintf("name%d.example.", i)]; n != 2 {
			t.Errorf("two checks looked %d times", n)
		}
		mu.Unlock()
	}
}
