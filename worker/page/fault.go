package page

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
)

// fault is what a look ended with, when it is not a text.
type fault struct {
	outcome belfry.CheckOutcome
	code    belfry.CheckCode
	text    string
}

func (f *fault) Error() string { return f.text }

func failing(code belfry.CheckCode, format string, args ...any) *fault {
	return &fault{belfry.CheckFail, code, fmt.Sprintf(format, args...)}
}

func ours(code belfry.CheckCode, format string, args ...any) *fault {
	return &fault{belfry.CheckError, code, fmt.Sprintf(format, args...)}
}

// blame writes into a measure whose fault an error is.
func blame(ctx context.Context, m *belfry.Measure, err error) {
	f := faultOf(ctx, err)
	m.Outcome, m.Code, m.Message = f.outcome, f.code, f.text
}

func faultOf(ctx context.Context, err error) *fault {
	var f *fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, new(tooComplex)), errors.As(err, new(foreign)):
		return ours(belfry.CodeUnsupported, "%s", err)
	case errors.As(err, new(unreadable)):
		return failing(belfry.CodeBodyBroken, "%s", err)
	case errors.As(err, new(misused)):
		return ours(belfry.CodeConfig, "%s", err)
	case ctx.Err() != nil: // the page had come by then
		return ours(belfry.CodeLate, "there was no time left to read the page within the timeout")
	}
	return ours(belfry.CodeInternal, "%s", err)
}

// stage is how far a request has come.
type stage int

const (
	resolving stage = iota
	connecting
	shaking // hands, for TLS
	writing
	waiting // for the first byte
	receiving
)

var (
	stageTimeout = []belfry.CheckCode{belfry.CodeDNSTimeout, belfry.CodeConnectTimeout, belfry.CodeTLSTimeout, belfry.CodeWrite, belfry.CodeFirstByte, belfry.CodeBodyTimeout}
	stageText    = []string{"looking up the name", "connecting", "the TLS handshake", "sending the request", "waiting for the answer", "reading the body"}
)

// netFault says what is wrong from an error of the network and from how far
// the request had come. Once the context has ended, every error is taken for
// its consequence: it comes with the texts of whoever ended it.
func netFault(ctx context.Context, err error, at stage) *fault {
	var (
		denied *guard.Denied
		dns    *net.DNSError
		named  x509.HostnameError
		bad    x509.CertificateInvalidError
		given  *fault
		op     *net.OpError
	)
	text := plainReason(err)
	switch {
	case errors.As(err, &given):
		return given
	case errors.As(err, &denied):
		return ours(belfry.CodeBlocked, "the address may not be reached: %s", text)
	case errors.As(err, &dns) && dns.IsNotFound:
		return failing(belfry.CodeDNSNotFound, "the name %q does not exist", dns.Name)
	case isTimeout(err), ctx.Err() != nil:
		return failing(stageTimeout[at], "no end of %s within the timeout", stageText[at])
	case errors.As(err, &dns):
		return failing(belfry.CodeDNSFailed, "looking up the name: %s", text)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failing(belfry.CodeConnectRefused, "the connection was refused")
	case at <= connecting && isDial(err):
		return failing(belfry.CodeConnectFailed, "connecting: %s", text)
	case errors.As(err, &named):
		return failing(belfry.CodeTLSName, "the certificate is for another name: %s", text)
	case errors.As(err, &bad) && bad.Reason == x509.Expired:
		return failing(belfry.CodeTLSExpired, "the certificate has expired or is not yet valid: %s", text)
	case errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, &bad), errors.As(err, new(*tls.CertificateVerificationError)):
		return failing(belfry.CodeTLSUntrusted, "the certificate is not trusted: %s", text)
	case at == shaking:
		return failing(belfry.CodeTLSHandshake, "the TLS handshake: %s", text)
	case at == receiving:
		return failing(belfry.CodeBodyBroken, "the body broke off: %s", text)
	case strings.Contains(text, "readLoopPeekFailLocked"): // net/http's word for it
		return failing(belfry.CodeProtocol, "the server spoke before it was asked, or closed the connection at once")
	case at == writing && errors.As(err, &op) && op.Op == "write":
		return failing(belfry.CodeWrite, "sending the request: %s", text)
	}
	return failing(belfry.CodeProtocol, "the answer is not HTTP: %s", text)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// plainReason is an error without the URL that net/http puts before it.
func plainReason(err error) string {
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	return err.Error()
}

// shownURL is an address without what may be secret in it.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.RawQuery == "" {
		return u.String()
	}
	u.RawQuery = ""
	return u.String() + "?…"
}

// secrets are texts that must not be shown: the values of the task's headers,
// and of its URL's query.
type secrets []string

// harmless headers are no secrets, and follow a redirect to another host.
var harmless = map[string]bool{"Accept": true, "Accept-Language": true, "User-Agent": true, "Content-Type": true, "Cache-Control": true, "Pragma": true}

// minSecret keeps values such as 1 from being cut out of every text.
const minSecret = 6

func secretsOf(g belfry.PageCheck) (s secrets) {
	add := func(value string) {
		if len(value) >= minSecret {
			s = append(s, value)
		}
	}
	for name, value := range g.Headers {
		if harmless[canonical(name)] || canonical(name) == "Host" {
			continue
		}
		add(value)
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ;,=", r) }) {
			if len(word) >= 12 { // a token after its scheme
				add(word)
			}
		}
	}
	if u, err := url.Parse(g.URL); err == nil {
		for name, values := range u.Query() {
			if sensitive.MatchString(name) {
				for _, v := range values {
					add(v)
					add(url.QueryEscape(v))
				}
			}
		}
	}
	return s
}

func (s secrets) hide(text string) string {
	for _, value := range s {
		text = strings.ReplaceAll(text, value, string(belfry.Redacted))
	}
	return text
}
