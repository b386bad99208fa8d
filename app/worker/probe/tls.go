package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/worker/internal/reach"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
)

// tls checks a certificate and its chain. The handshake accepts any certificate;
// the check verifies it afterwards.
func (l *check) tls(ctx context.Context) *reach.Fault {
	c := l.Task.TLS
	roots, err := l.e.net.Trusted(c.CA)
	if err != nil {
		return reach.Misconfigured("tls.ca", err)
	}
	x, conn, leave, f := l.connect(ctx, c.Address, c.Family)
	if f != nil {
		return f
	}
	defer leave()
	if c.StartTLS != "" {
		x.Enter(reach.StageTLS)
		if err := startTLS(conn, c.StartTLS); err != nil {
			return l.startFault(ctx, x, err)
		}
	}
	name := cmp.Or(c.ServerName, hostOf(c.Address))
	seen, err := l.shakeHands(ctx, x, conn, name)
	x.End()
	if len(seen.PeerCertificates) == 0 {
		if err == nil {
			return reach.Failing(task.CodeTLSHandshake, "the target showed no certificate")
		}
		return l.NetFault(ctx, x, err)
	}
	// After the server has presented its certificate, an error means that it refused
	// a client without one. The server's certificate can still be checked.
	return l.judgeChain(seen, name, roots)
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func (c *check) shakeHands(ctx context.Context, x *reach.Exchange, conn net.Conn, name string) (seen tls.ConnectionState, err error) {
	config := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // verified below
		MinVersion:         tls.VersionTLS10,
		ServerName:         name,
		VerifyConnection: func(cs tls.ConnectionState) error {
			seen = cs
			return nil
		},
	}
	_, err = c.Secure(ctx, x, conn, config)
	return seen, err
}

func (c *check) startFault(ctx context.Context, x *reach.Exchange, err error) *reach.Fault {
	var refused *errStartTLS
	if errors.As(err, &refused) {
		return reach.Failing(task.CodeProtocol, "the target does not go over to TLS: %s", c.Secrets.Redact(refused.Error()))
	}
	f := c.NetFault(ctx, x, err)
	if f.Code == task.CodeTLSHandshake {
		f.Code, f.Text = task.CodeProtocol, "the target ended the conversation before TLS: "+reach.Cause(err)
	}
	return f
}

// judgeChain returns the fault of the presented chain: first an expired
// certificate, then a wrong name, then an unknown authority.
func (c *check) judgeChain(seen tls.ConnectionState, name string, roots *x509.CertPool) *reach.Fault {
	now := c.Now()
	leaf := seen.PeerCertificates[0]
	chain, verifyErr := verified(seen.PeerCertificates, roots, now)
	seen.VerifiedChains = chain
	c.Saw(&seen)
	c.Answered = true
	c.Snapshot = func() *task.Snapshot {
		return c.Secrets.Keep(tls.VersionName(seen.Version), nil, []byte(describe(seen.PeerCertificates)))
	}
	if late := outOfTime(seen.PeerCertificates, roots, verifyErr, now); late != nil {
		return reach.Failing(task.CodeTLSExpired, "the certificate of %s is out of its time: it holds from %s to %s", subject(late), core.Stamp(late.NotBefore), core.Stamp(late.NotAfter))
	}
	if err := leaf.VerifyHostname(name); err != nil {
		return reach.Failing(task.CodeTLSName, "the certificate is for another name: it is for %s, and not for %s", reach.NamesOf(leaf), name)
	}
	if verifyErr != nil {
		f := reach.TLSFault(verifyErr)
		f.Err = verifyErr
		return f
	}
	return c.judgeEnd(now)
}

// judgeEnd returns a fault if the chain expires too soon.
func (l *check) judgeEnd(now time.Time) *reach.Fault {
	c := l.Task.TLS
	left := l.Facts.CertEnd.Sub(now)
	within := func(days int) bool { return days > 0 && left < time.Duration(days)*24*time.Hour }
	text := fmt.Sprintf("a certificate of the chain ends on %s, in %d days", core.Stamp(l.Facts.CertEnd), int(left/(24*time.Hour)))
	switch {
	case within(c.FailDays):
		return reach.Failing(task.CodeTLSExpiring, "%s", text)
	case within(c.WarnDays):
		return &reach.Fault{Outcome: task.CheckDegraded, Code: task.CodeTLSExpiring, Text: text}
	}
	return nil
}

func verified(shown []*x509.Certificate, roots *x509.CertPool, now time.Time) ([][]*x509.Certificate, error) {
	between := x509.NewCertPool()
	for _, c := range shown[1:] {
		between.AddCert(c)
	}
	return shown[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
}

// outOfTime returns a required certificate that has expired or is not yet valid.
// A server may present more certificates than required, and these may expire:
// they do not change whether the chain is complete.
func outOfTime(shown []*x509.Certificate, roots *x509.CertPool, verifyErr error, now time.Time) *x509.Certificate {
	if verifyErr == nil {
		return nil
	}
	for i, c := range shown {
		if !now.After(c.NotAfter) && !now.Before(c.NotBefore) {
			continue
		}
		if i == 0 {
			return c
		}
		then := c.NotAfter
		if now.Before(c.NotBefore) {
			then = c.NotBefore
		}
		if _, err := verified(shown, roots, then); err == nil {
			return c
		}
	}
	return nil
}

func subject(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	return reach.NamesOf(c)
}

func describe(shown []*x509.Certificate) string {
	var b strings.Builder
	for _, c := range shown[:min(len(shown), 10)] {
		fmt.Fprintf(&b, "%s, by %s, from %s to %s\n", subject(c), c.Issuer, core.Stamp(c.NotBefore), core.Stamp(c.NotAfter))
	}
	return b.String()
}
