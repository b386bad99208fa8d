package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
)

var past = time.Unix(1, 0) // a deadline that is over

// blockedText is the same for all denied addresses: which of them answers to
// what is nothing that a check may find out.
const blockedText = "the target's address may not be reached by this worker; its operator can allow it (--allow-addresses)"

// netFault is what an error means for a check, given where its trip was. The
// order matters: our own faults come first, because they look like the
// target's.
func (l *look) netFault(ctx context.Context, t *trip, err error) *fault {
	at := t.stage()
	f := l.ownFault(err)
	if f == nil && cutShort(ctx) != nil {
		f = ours(belfry.CodeLost, "the check was cut short: %s", cutShort(ctx))
	}
	if f == nil && (ctx.Err() != nil || isTimeout(err)) {
		f = l.stalled(t, at)
	}
	if f == nil {
		f = stageFault(at, err)
	}
	f.err = err
	return f
}

// ownFault is nil for what the target may be blamed for.
func (l *look) ownFault(err error) *fault {
	switch {
	case errors.As(err, new(*guard.Denied)):
		return ours(belfry.CodeBlocked, blockedText)
	case errors.Is(err, errFamily):
		return ours(belfry.CodeConfig, "%s", err)
	case is(err, syscall.ENETUNREACH, syscall.ENETDOWN), strings.Contains(err.Error(), "network is unreachable"):
		return ours(belfry.CodeNetwork, "this machine has no route to the target: the network is unreachable")
	case is(err, syscall.EPERM, syscall.EACCES):
		return ours(belfry.CodeNetwork, "this machine does not let the worker send there: %s", cause(err))
	case is(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL):
		return ours(belfry.CodeInternal, "this machine has run out of something: %s", cause(err))
	case isResolverGone(err):
		return ours(belfry.CodeNetwork, "this machine's resolver cannot be reached: %s", cause(err))
	}
	return nil
}

func is(err error, numbers ...syscall.Errno) bool {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}

// isResolverGone knows a look-up that no server took. The resolver keeps no
// more than the text of what happened to it.
func isResolverGone(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && strings.Contains(dns.Err, "connection refused")
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// stalled names the stage that took the rest of the time.
func (l *look) stalled(t *trip, at stage) *fault {
	code := map[stage]belfry.CheckCode{
		stageDNS: belfry.CodeDNSTimeout, stageConnect: belfry.CodeConnectTimeout, stageTLS: belfry.CodeTLSTimeout,
		stageWrite: belfry.CodeWrite, stageWait: belfry.CodeFirstByte, stageBody: belfry.CodeBodyTimeout,
	}[at]
	if code == "" {
		code = belfry.CodeTimeout
	}
	f := failing(code, "no end within the timeout of %s: it stalled %s", short(l.budget), words[at])
	t.mu.Lock()
	defer t.mu.Unlock()
	if done := t.phases; done.DNS+done.Connect+done.TLS > 0 && at > stageDNS {
		f.text += fmt.Sprintf(" (look-up %s, connect %s", short(done.DNS.D()), short(done.Connect.D()))
		if done.TLS > 0 {
			f.text += ", TLS " + short(done.TLS.D())
		}
		f.text += ")"
	}
	return f
}

// stageFault is what an error means that came in time.
func stageFault(at stage, err error) *fault {
	switch at {
	case stageDNS:
		return dnsFault(err)
	case stageConnect:
		if errors.Is(err, syscall.ECONNREFUSED) {
			return failing(belfry.CodeConnectRefused, "the target refused the connection")
		}
		return failing(belfry.CodeConnectFailed, "no connection: %s", cause(err))
	case stageTLS:
		return tlsFault(err)
	case stageBody:
		return failing(belfry.CodeBodyBroken, "the body broke off: %s", cause(err))
	}
	if isAlert(err) {
		return tlsFault(err) // TLS 1.3 refuses a client after the handshake
	}
	switch {
	case strings.Contains(err.Error(), "client conn could not be established"): // HTTP/2 says no more
		return failing(belfry.CodeProtocol, "the target closed the connection before it was asked anything")
	case at == stageWrite:
		return failing(belfry.CodeWrite, "the request could not be sent: %s", cause(err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), is(err, syscall.ECONNRESET, syscall.EPIPE):
		return failing(belfry.CodeProtocol, "the target closed the connection %s", words[at])
	}
	return failing(belfry.CodeProtocol, "the answer cannot be read: %s", cause(err))
}

func dnsFault(err error) *fault {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		return failing(belfry.CodeDNSFailed, "the name cannot be looked up: %s", cause(err))
	case dns.IsNotFound:
		return failing(belfry.CodeDNSNotFound, "the name %s does not exist, or has no address of the family", dns.Name)
	case dns.IsTimeout:
		return failing(belfry.CodeDNSTimeout, "the look-up of %s had no answer in time", dns.Name)
	}
	return failing(belfry.CodeDNSFailed, "the look-up of %s failed: %s", dns.Name, dns.Err)
}

// tlsFault tells apart what people mend in different places.
func tlsFault(err error) *fault {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		roots     x509.SystemRootsError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &roots), errors.As(err, &authority) && noRoots():
		return ours(belfry.CodeInternal, "this machine has no certificates of authorities, and so can trust nobody: install them, or give ca")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failing(belfry.CodeTLSExpired, "the certificate is out of its time: %s", invalid.Detail)
	case errors.As(err, &name):
		return failing(belfry.CodeTLSName, "the certificate is for another name: it is for %s, and not for %s", namesOf(name.Certificate), name.Host)
	case errors.As(err, &authority):
		if c := authority.Cert; c != nil && c.Subject.String() == c.Issuer.String() {
			return failing(belfry.CodeTLSUntrusted, "the certificate is signed by itself, or by an authority that is not trusted: %s", c.Issuer)
		}
		return failing(belfry.CodeTLSUntrusted, "the certificate is signed by an authority that is not trusted, or a part of its chain is missing")
	case errors.As(err, &invalid):
		return failing(belfry.CodeTLSUntrusted, "the certificate cannot be trusted: %s", invalid.Error())
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return failing(belfry.CodeTLSHandshake, "the target does not speak TLS on this port")
	case errors.Is(err, io.EOF), is(err, syscall.ECONNRESET, syscall.EPIPE):
		return failing(belfry.CodeTLSHandshake, "the target closed the connection in the TLS handshake")
	}
	return failing(belfry.CodeTLSHandshake, "no TLS: %s", cause(err))
}

// noRoots reports that the system trusts nobody.
var noRoots = sync.OnceValue(func() bool {
	pool, err := x509.SystemCertPool()
	return err != nil || pool.Equal(x509.NewCertPool())
})

func namesOf(c *x509.Certificate) string {
	if c == nil {
		return "nobody"
	}
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name"
	}
	if len(names) > 5 {
		names = append(names[:5], "others")
	}
	return strings.Join(names, ", ")
}

// isAlert knows what the other side said in TLS after the handshake.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// cause is the inner text of an error: without addresses, which say nothing
// new, and without what may be secret in a URL.
func cause(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op) && op.Err != nil && op.Op != "remote error":
		return redactText(op.Err.Error())
	}
	return strings.TrimPrefix(reason(err), "net/http: HTTP/1.x transport connection broken: ")
}
