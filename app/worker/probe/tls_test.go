package probe_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

func nothing(http.ResponseWriter, *http.Request) {}

const hours = time.Hour

func ends(in time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = time.Now().Add(in) }
}

// Whatever a server does wrong about TLS, each kind says it with the same code.
func TestBrokenTLS(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	server := func(change func(*tls.Config), certificate ...func(*x509.Certificate)) string {
		config := with(ca.server(t, certificate...))
		if change != nil {
			change(config)
		}
		return addressOf(serveTLS(t, config, nothing))
	}
	plain := serve(t, nothing)
	for name, c := range map[string]struct {
		address, text string
		code          task.CheckCode
	}{
		"expired":     {server(nil, ends(-hours)), "out of its time", task.CodeTLSExpired},
		"not yet":     {server(nil, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(hours) }), "out of its time", task.CodeTLSExpired},
		"wrong name":  {server(nil, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"example.com"} }), "it is for example.com, and not for 127.0.0.1", task.CodeTLSName},
		"self-signed": {addressOf(serveTLS(t, with(selfSigned(t)), nothing)), "signed by itself", task.CodeTLSUntrusted},
		"unknown CA":  {addressOf(serveTLS(t, with(other.server(t)), nothing)), "not trusted", task.CodeTLSUntrusted},
		"no cipher": {server(func(c *tls.Config) {
			c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA} //nolint:gosec // on purpose
		}), "handshake failure", task.CodeTLSHandshake},
		"no TLS": {addressOf(plain), "does not speak TLS", task.CodeTLSHandshake},
		"silent": {raw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }), "closed the connection in the TLS handshake", task.CodeTLSHandshake},
		"garbage": {raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, strings.Repeat("\x16\x03\x03\xff\xff", 20000))
		}), "", task.CodeTLSHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, tk := range map[string]task.Task{
				"http":      {HTTP: &task.HTTP{URL: "https://" + c.address, CA: ca.pem}},
				"tls":       {TLS: &task.TLS{Address: c.address, CA: ca.pem}},
				"grpc":      {GRPC: &task.GRPC{Address: c.address, CA: ca.pem}},
				"websocket": {WebSocket: &task.WebSocket{URL: "wss://" + c.address}},
			} {
				m := look(t, tk)
				if kind == "websocket" && (c.code == task.CodeTLSName || c.code == task.CodeTLSUntrusted) {
					continue // it has no ca: nobody here is trusted
				}
				if m.Outcome != task.CheckFail || m.Code != c.code || !strings.Contains(m.Message, c.text) {
					t.Errorf("%s: %s %s: %s", kind, m.Outcome, m.Code, m.Message)
				}
				if seen := c.code == task.CodeTLSExpired || c.code == task.CodeTLSName || c.code == task.CodeTLSUntrusted; seen == m.CertEnd.IsZero() {
					t.Errorf("%s: the certificate's end is %s", kind, m.CertEnd)
				}
			}
		})
	}
}

func TestATLSVersionThatIsTooOld(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	config := with(ca.server(t))
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 //nolint:gosec // on purpose
	s := serveTLS(t, config, nothing)
	wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, CA: ca.pem}}), task.CheckFail, task.CodeTLSHandshake, "protocol version")
	wants(t, look(t, task.Task{GRPC: &task.GRPC{Address: addressOf(s), CA: ca.pem}}), task.CheckFail, task.CodeTLSHandshake, "protocol version")
	// Kind tls is about the certificate. The version is there to be judged.
	tk := task.Task{TLS: &task.TLS{Address: addressOf(s), CA: ca.pem}, Conditions: []string{"tls_version in ['TLS 1.2', 'TLS 1.3']"}}
	wants(t, look(t, tk), task.CheckFail, task.CodeAssertion, `tls_version = "TLS 1.1"`)
}

func TestAHandshakeThatStalls(t *testing.T) {
	t.Parallel()
	address := raw(t, hold)
	for _, tk := range []task.Task{
		get("https://" + address), {TLS: &task.TLS{Address: address}}, {GRPC: &task.GRPC{Address: address}}, {WebSocket: &task.WebSocket{URL: "wss://" + address}},
	} {
		m := stalls(t, tk, task.CodeTLSTimeout)
		wants(t, m, task.CheckFail, task.CodeTLSTimeout, "it stalled in the TLS handshake")
	}
}

// Servers that stall in the handshake wait without a slot for handshakes.
func TestHandshakesThatStallDoNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := serveTLS(t, with(ca.server(t)), nothing)
	var stalled []string
	arrived := make(chan struct{}, 1000)
	for range 20 {
		stalled = append(stalled, raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			arrived <- struct{}{}
			hold(c)
		}))
	}
	ex, cancel, done := together(t, stalled)
	for range 4 * len(stalled) {
		<-arrived
	}
	wants(t, ex.Check(t.Context(), task.Task{HTTP: &task.HTTP{URL: good.URL, CA: ca.pem}}), task.CheckOK, "", "")
	cancel()
	done()
}

func TestSkipVerifyReportsTheEndAllTheSame(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := serveTLS(t, with(ca.server(t, ends(-hours))), nothing)
	m := look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, SkipVerify: true}, Conditions: []string{"cert_days >= 0"}})
	wants(t, m, task.CheckFail, task.CodeAssertion, "cert_days = -1")
	wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, SkipVerify: true}}), task.CheckOK, "", "")
}

func TestTheServerNameMayDiffer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := serveTLS(t, with(ca.server(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"virtual.example"} })), nothing)
	for _, tk := range []task.Task{
		{HTTP: &task.HTTP{URL: s.URL, CA: ca.pem, ServerName: "virtual.example"}},
		{TLS: &task.TLS{Address: addressOf(s), CA: ca.pem, ServerName: "virtual.example"}},
	} {
		wants(t, look(t, tk), task.CheckOK, "", "")
	}
}

func TestAClientWithoutACertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := with(ca.server(t))
		config.ClientAuth, config.ClientCAs, config.MaxVersion = tls.RequireAndVerifyClientCert, pool, version
		s := serveTLS(t, config, nothing)
		wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, CA: ca.pem}}), task.CheckFail, task.CodeTLSHandshake, "")
		// The certificate of the server can still be checked.
		wants(t, look(t, task.Task{TLS: &task.TLS{Address: addressOf(s), CA: ca.pem}}), task.CheckOK, "", "")
		client := ca.server(t)
		auth := &task.HTTPAuth{Cert: pemOf(client.Leaf), Key: core.Secret(keyPEM(t, client.PrivateKey.(*ecdsa.PrivateKey)))}
		wants(t, look(t, task.Task{HTTP: &task.HTTP{URL: s.URL, CA: ca.pem, Auth: auth}}), task.CheckOK, "", "")
	}
}

func TestTheWholeChainIsLookedAt(t *testing.T) {
	t.Parallel()
	root := newAuthority(t)
	between := func(end time.Duration) authority {
		template := newAuthority(t).cert
		template.RawSubject = nil
		template.NotAfter, template.Subject.CommonName = time.Now().Add(end), "Between"
		a := authority{}
		a.cert, a.key = issue(t, template, root.cert, root.key)
		return a
	}
	chain := func(end time.Duration) string {
		middle := between(end)
		cert := middle.server(t)
		cert.Certificate = append(cert.Certificate, middle.cert.Raw)
		return addressOf(serveTLS(t, with(cert), nothing))
	}
	const day = 24 * time.Hour
	ask := func(address string, change func(*task.TLS)) task.CheckResult {
		c := task.TLS{Address: address, CA: root.pem}
		if change != nil {
			change(&c)
		}
		return look(t, task.Task{TLS: &c})
	}
	m := ask(chain(60*day+hours), nil)
	wants(t, m, task.CheckOK, "", "")
	if left := time.Until(m.CertEnd) / day; left != 60 {
		t.Errorf("the first certificate ends in %d days", left)
	}
	soon := chain(5*day + hours)
	wants(t, ask(soon, nil), task.CheckDegraded, task.CodeTLSExpiring, "in 5 days")
	wants(t, ask(soon, func(c *task.TLS) { c.WarnDays = -1 }), task.CheckOK, "", "")
	wants(t, ask(soon, func(c *task.TLS) { c.FailDays = 7 }), task.CheckFail, task.CodeTLSExpiring, "in 5 days")
	ended := ask(chain(-hours), nil)
	wants(t, ended, task.CheckFail, task.CodeTLSExpired, "the certificate of Between is out of its time")
	if !strings.Contains(ended.Snapshot.Body, "Between, by CN=Test Authority") {
		t.Errorf("%+v", ended.Snapshot)
	}
	// An authority that ends in our own store is not the target's to renew, and
	// a certificate that is shown without need is nobody's.
	short := newAuthority(t, ends(3*day))
	cert := short.server(t)
	cert.Certificate = append(cert.Certificate, newAuthority(t, ends(-hours)).cert.Raw)
	m = look(t, task.Task{TLS: &task.TLS{Address: addressOf(serveTLS(t, with(cert), nothing)), CA: short.pem}})
	wants(t, m, task.CheckOK, "", "")
	// A part that is missing.
	lone := between(60 * day)
	wants(t, ask(addressOf(serveTLS(t, with(lone.server(t)), nothing)), nil), task.CheckFail, task.CodeTLSUntrusted, "a part of its chain is missing")
}

func TestStartTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert := ca.server(t)
	// A script alternates between a text of the server and the text that it then expects.
	server := func(script ...string) string {
		return raw(t, func(c net.Conn) {
			from := bufio.NewReader(c)
			for i, words := range script {
				if i%2 == 0 {
					_, _ = io.WriteString(c, words)
					continue
				}
				heard := make([]byte, len(words))
				if _, err := io.ReadFull(from, heard); err != nil || string(heard) != words {
					return
				}
			}
			secured := tls.Server(c, with(cert))
			if secured.Handshake() == nil {
				hold(secured)
			}
		})
	}
	for protocol, address := range map[string]string{
		"smtp":     server("220-mail\r\n220 ready\r\n", "EHLO belfry\r\n", "250-mail\r\n250 STARTTLS\r\n", "STARTTLS\r\n", "220 go\r\n"),
		"imap":     server("* OK ready\r\n", "a1 STARTTLS\r\n", "* something\r\na1 OK go\r\n"),
		"pop3":     server("+OK ready\r\n", "STLS\r\n", "+OK go\r\n"),
		"ftp":      server("220 ready\r\n", "AUTH TLS\r\n", "234 go\r\n"),
		"postgres": server("", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "S"),
	} {
		m := look(t, task.Task{TLS: &task.TLS{Address: address, CA: ca.pem, StartTLS: protocol}})
		if m.Outcome != task.CheckOK {
			t.Errorf("%s: %+v", protocol, m)
		}
	}
	for name, c := range map[string]struct {
		protocol, address, text string
		code                    task.CheckCode
	}{
		"not offered":   {"smtp", server("220 ready\r\n", "EHLO belfry\r\n", "250 mail\r\n", "STARTTLS\r\n", "502 what?\r\n"), "502 what?", task.CodeProtocol},
		"not wanted":    {"postgres", server("", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "N"), `"N"`, task.CodeProtocol},
		"other words":   {"imap", server("220 I am SMTP\r\n"), "220 I am SMTP", task.CodeProtocol},
		"a long line":   {"pop3", server(strings.Repeat("x", 100_000)), "it said", task.CodeProtocol},
		"many lines":    {"ftp", server(strings.Repeat("220-x\r\n", 5000)), "without end", task.CodeProtocol},
		"goes away":     {"smtp", raw(t, func(net.Conn) {}), "before TLS", task.CodeProtocol},
		"says too much": {"pop3", server("+OK ready\r\n", "STLS\r\n", "+OK go\r\n+OK and more\r\n"), "more than was asked for", task.CodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := look(t, task.Task{TLS: &task.TLS{Address: c.address, CA: ca.pem, StartTLS: c.protocol}})
			wants(t, m, task.CheckFail, c.code, c.text)
		})
	}
	wants(t, stalls(t, task.Task{TLS: &task.TLS{Address: raw(t, hold), StartTLS: "smtp"}}, task.CodeTLSTimeout), task.CheckFail, task.CodeTLSTimeout, "")
}

func TestPEMsThatAreNone(t *testing.T) {
	t.Parallel()
	for field, tk := range map[string]task.Task{
		"ca":      {HTTP: &task.HTTP{URL: "https://127.0.0.1:1", CA: "x"}},
		"auth":    {HTTP: &task.HTTP{URL: "https://127.0.0.1:1", Auth: &task.HTTPAuth{Cert: "x", Key: "verysecret"}}},
		"tls.ca":  {TLS: &task.TLS{Address: "127.0.0.1:1", CA: "x"}},
		"grpc.ca": {GRPC: &task.GRPC{Address: "127.0.0.1:1", CA: "x"}},
	} {
		m := look(t, tk)
		wants(t, m, task.CheckError, task.CodeConfig, field)
		if strings.Contains(fmt.Sprint(m), "verysecret") {
			t.Errorf("%+v", m)
		}
	}
}
