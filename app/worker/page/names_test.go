package page

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
)

func TestNamesThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		switch q.Question[0].Name {
		case "missing.example.":
			_ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeNameError))
		case "broken.example.":
			_ = w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeServerFailure))
		}
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); <-done })
	// The resolver continues for a while after the last waiting call has ended.
	asking, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	e := New(Options{Guard: guard.Options{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(asking, "udp", conn.LocalAddr().String())
		if err == nil {
			context.AfterFunc(asking, func() { _ = c.Close() })
		}
		return c, err
	}}}})
	defer e.Close()
	for name, code := range map[string]task.CheckCode{
		"missing": task.CodeDNSNotFound, "broken": task.CodeDNSFailed, "silent": task.CodeDNSTimeout,
	} {
		timeout := time.Minute
		if name == "silent" {
			timeout = time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		m := e.Check(ctx, pageTask(task.PageCheck{URL: "http://" + name + ".example./"}))
		cancel()
		want(t, m, task.CheckFail, code)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for code, change := range map[task.CheckCode]func(c *x509.Certificate){
		"":                    func(*x509.Certificate) {},
		task.CodeTLSName:      func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.example"} },
		task.CodeTLSExpired:   func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) },
		task.CodeTLSUntrusted: nil,
	} {
		cert, root := certificate(t, change)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		var roots *x509.CertPool
		if change != nil {
			roots = x509.NewCertPool()
			roots.AddCert(root)
		}
		e := over(reach.New(reach.Options{Guard: loopback, Roots: roots}))
		t.Cleanup(e.Close)
		m := e.Check(t.Context(), pageTask(task.PageCheck{URL: s.URL}))
		outcome := task.CheckFail
		if code == "" {
			outcome = task.CheckOK
			if m.CertEnd.IsZero() || m.Phases.TLS <= 0 {
				t.Errorf("%+v", m)
			}
		}
		want(t, m, outcome, code)
		if code == "" { // and is long out of its time by the clock of the server
			r := run(t, task.PageCheck{URL: s.URL}, job.TriggerCheck)
			r.Job.ClaimedAt, r.Arrived = time.Now().AddDate(1, 0, 0), time.Now()
			f := e.Execute(t.Context(), r)
			want(t, *f.Check, task.CheckFail, task.CodeTLSExpired)
		}
	}
}

func certificate(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, root
}
