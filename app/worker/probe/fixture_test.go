package probe_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/belfry-run/belfry/app/worker/probe"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// look checks once, with time enough for everything that comes to an end.
func look(t *testing.T, task task.Task, change ...func(*probe.Options)) task.CheckResult {
	t.Helper()
	o := probe.Options{Guard: local, Version: "1.2.3"}
	for _, c := range change {
		c(&o)
	}
	ex := probe.New(o)
	defer ex.Close()
	task.Name = "look"
	if task.Timeout == 0 {
		task.Timeout = core.Duration(30 * time.Second)
	}
	m := ex.Check(t.Context(), task)
	checkShape(t, m)
	return m
}

// stalls checks what never ends by itself. How far a check comes within a
// timeout is the machine's business, so a check that came less far than wanted
// gets more of it.
func stalls(t *testing.T, task task.Task, want task.CheckCode, change ...func(*probe.Options)) (m task.CheckResult) {
	t.Helper()
	for _, d := range []time.Duration{150 * time.Millisecond, time.Second, 8 * time.Second} {
		task.Timeout = core.Duration(d)
		if m = look(t, task, change...); m.Code == want {
			return m
		}
	}
	t.Errorf("got %s %s: %s, want %s", m.Outcome, m.Code, m.Message, want)
	return m
}

// checkShape checks the properties of every result.
func checkShape(t *testing.T, m task.CheckResult) {
	t.Helper()
	own := map[task.CheckCode]bool{
		task.CodeBlocked: true, task.CodeUnsupported: true, task.CodeConfig: true, task.CodeLost: true,
		task.CodeLate: true, task.CodeNetwork: true, task.CodeInternal: true, task.CodeDomainUnknown: true,
	}
	if (m.Outcome == task.CheckError) != own[m.Code] || (m.Outcome == task.CheckOK) != (m.Code == "") || (m.Code == "") != (m.Message == "") {
		t.Errorf("outcome %s does not fit to code %q and message %q", m.Outcome, m.Code, m.Message)
	}
	if len(m.Message) > task.MaxCheckMessage || !utf8.ValidString(m.Message) || strings.Contains(m.Message, "\n") {
		t.Errorf("message %q", m.Message)
	}
	if s := m.Snapshot; s != nil && (len(s.Body) > task.MaxSnapshot || !utf8.ValidString(s.Body) || len(s.Headers) > task.MaxSnapshotLines || m.Outcome == task.CheckOK) {
		t.Errorf("snapshot %+v", s)
	}
	if m.Latency < 0 || m.Phases.DNS < 0 || m.Phases.Connect < 0 || m.Phases.TLS < 0 || m.Phases.FirstByte < 0 || m.Phases.Transfer < 0 {
		t.Errorf("times %s, %+v", m.Latency, m.Phases)
	}
	if sum := m.Phases.DNS + m.Phases.Connect + m.Phases.TLS + m.Phases.FirstByte + m.Phases.Transfer; m.Latency > 0 && sum > m.Latency+core.Duration(time.Millisecond) && m.Code != task.CodeLoss {
		t.Errorf("the phases %+v are %s together, the latency is %s", m.Phases, sum, m.Latency)
	}
}

func wants(t *testing.T, m task.CheckResult, outcome task.CheckOutcome, code task.CheckCode, text string) {
	t.Helper()
	if m.Outcome != outcome || m.Code != code || !strings.Contains(m.Message, text) {
		t.Errorf("got %s %q: %s\nwant %s %q: %s", m.Outcome, m.Code, m.Message, outcome, code, text)
	}
}

func get(url string) task.Task { return task.Task{HTTP: &task.HTTP{URL: url}} }

// raw serves connections by hand. The handler's connection is closed when it
// returns.
func raw(t *testing.T, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				handle(c)
			})
		}
	})
	return l.Addr().String()
}

// hold waits until the other side has gone.
func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// readRequest takes in a request's headers.
func readRequest(c net.Conn) {
	buf := make([]byte, 4096)
	for text := ""; !strings.Contains(text, "\r\n\r\n"); {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		text += string(buf[:n])
	}
}

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t testing.TB, change ...func(*x509.Certificate)) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-100 * 24 * time.Hour), NotAfter: time.Now().Add(1000 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	for _, c := range change {
		c(template)
	}
	a := authority{}
	a.cert, a.key = issue(t, template, template, nil)
	a.pem = pemOf(a.cert)
	return a
}

func issue(t testing.TB, template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func keyPEM(t testing.TB, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// server is a certificate for 127.0.0.1 and localhost, for 90 more days.
func (a authority) server(t testing.TB, change ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-100 * 24 * time.Hour), NotAfter: time.Now().Add(90*24*time.Hour + time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, c := range change {
		c(template)
	}
	cert, key := issue(t, template, a.cert, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// selfSigned is a certificate without an authority.
func selfSigned(t testing.TB) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "self"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 24 * time.Hour),
	}
	cert, key := issue(t, template, template, nil)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// serveTLS is an HTTPS server with these settings.
func serveTLS(t testing.TB, config *tls.Config, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS, s.EnableHTTP2 = config, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func with(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

func addressOf(s *httptest.Server) string { return s.Listener.Addr().String() }
