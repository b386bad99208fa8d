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

// tls looks at a certificate and its chain. The handshake accepts anything, so
// that there is something to look at; what is wrong with it is said afterwards.
func (l *look) tls(ctx context.Context) *reach.Fault {
	c := l.Task.TLS
	roots, err := l.e.net.Trusted(c.CA)
	if err != nil {
		return reach.Misconfigured("tls.ca", err)
	}
	trip, conn, leave, f := l.connect(ctx, c.Address, c.Family)
	if f != nil {
		return f
	}
	defer leave()
	if c.StartTLS != "" {
		trip.Enter(reach.StageTLS)
		if err := startTLS(conn, c.StartTLS); err != nil {
			return l.startFault(ctx, trip, err)
		}
	}
	name := cmp.Or(c.ServerName, hostOf(c.Address))
	seen, err := l.shakeHands(ctx, trip, conn, name)
	trip.End()
	if len(seen.PeerCertificates) == 0 {
		if err == nil {
			return reach.Failing(task.CodeTLSHandshake, "the target showed no certificate")
		}
		return l.NetFault(ctx, trip, err)
	}
	// An error after the certificate was shown is the target's no to a client
	// that has none. Its own certificate can be judged all the same.
	return l.judgeChain(seen, name, roots)
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func (l *look) shakeHands(ctx context.Context, trip *reach.Trip, conn net.Conn, name string) (seen tls.ConnectionState, err error) {
	config := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // judged below
		MinVersion:         tls.VersionTLS10,
		ServerName:         name,
		VerifyConnection: func(cs tls.ConnectionState) error {
			seen = cs
			return nil
		},
	}
	_, err = l.Secure(ctx, trip, conn, config)
	return seen, err
}

func (l *look) startFault(ctx context.Context, trip *reach.Trip, err error) *reach.Fault {
	var refused *errStartTLS
	if errors.As(err, &refused) {
		return reach.Failing(task.CodeProtocol, "the target does not go over to TLS: %s", l.Secrets.Redact(refused.Error()))
	}
	f := l.NetFault(ctx, trip, err)
	if f.Code == task.CodeTLSHandshake {
		f.Code, f.Text = task.CodeProtocol, "the target ended the conversation before TLS: "+reach.Cause(err)
	}
	return f
}

// judgeChain says what is wrong with what was shown: first what is out of its
// time, then the name, then whom it goes back to.
func (l *look) judgeChain(seen tls.ConnectionState, name string, roots *x509.CertPool) *reach.Fault {
	now := time.Now()
	leaf := seen.PeerCertificates[0]
	chain, verifyErr := verified(seen.PeerCertificates, roots, now)
	seen.VerifiedChains = chain
	l.Saw(&seen)
	l.Answered = true
	l.Snapshot = func() *task.Snapshot {
		return l.Secrets.Keep(tls.VersionName(seen.Version), nil, []byte(describe(seen.PeerCertificates)))
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
	return l.judgeEnd(now)
}

// judgeEnd says whether the chain ends too soon.
func (l *look) judgeEnd(now time.Time) *reach.Fault {
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

// outOfTime is the certificate that ended, or has not begun, and is needed. A
// server may show more than is needed, and what it shows too much may end: the
// chain is then whole without it, or would not be whole with it either.
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
