package reach

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/belfry-run/belfry/task"
)

// TLSFault returns the fault of a TLS error. It distinguishes errors with different remedies.
func TLSFault(err error) *Fault {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		roots     x509.SystemRootsError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &roots), errors.As(err, &authority) && noRoots():
		return Ours(task.CodeInternal, "this machine has no certificates of authorities, and so can trust nobody: install them, or give ca")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Failing(task.CodeTLSExpired, "the certificate is out of its time: %s", invalid.Detail)
	case errors.As(err, &name):
		return Failing(task.CodeTLSName, "the certificate is for another name: it is for %s, and not for %s", NamesOf(name.Certificate), name.Host)
	case errors.As(err, &authority):
		if c := authority.Cert; c != nil && c.Subject.String() == c.Issuer.String() {
			return Failing(task.CodeTLSUntrusted, "the certificate is signed by itself, or by an authority that is not trusted: %s", c.Issuer)
		}
		return Failing(task.CodeTLSUntrusted, "the certificate is signed by an authority that is not trusted, or a part of its chain is missing")
	case errors.As(err, &invalid):
		return Failing(task.CodeTLSUntrusted, "the certificate cannot be trusted: %s", invalid.Error())
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return Failing(task.CodeTLSUntrusted, "the certificate cannot be trusted: %s", Cause(err))
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return Failing(task.CodeTLSHandshake, "the target does not speak TLS on this port")
	case errors.Is(err, io.EOF), Is(err, syscall.ECONNRESET, syscall.EPIPE):
		return Failing(task.CodeTLSHandshake, "the target closed the connection in the TLS handshake")
	}
	return Failing(task.CodeTLSHandshake, "no TLS: %s", Cause(err))
}

// noRoots reports whether the system trusts no authority.
var noRoots = sync.OnceValue(func() bool {
	pool, err := x509.SystemCertPool()
	return err != nil || pool.Equal(x509.NewCertPool())
})

// NamesOf returns the names of a certificate.
func NamesOf(c *x509.Certificate) string {
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
