package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
)

// Past is a deadline in the past.
var Past = time.Unix(1, 0)

// Fault is the reason why a check failed.
type Fault struct {
	Outcome task.CheckOutcome
	Code    task.CheckCode
	Text    string
	Err     error // the cause, or nil
}

func (f *Fault) Error() string { return f.Text }
func (f *Fault) Unwrap() error { return f.Err }

// Failing is a fault of the target.
func Failing(code task.CheckCode, format string, args ...any) *Fault {
	return &Fault{Outcome: task.CheckFail, Code: code, Text: fmt.Sprintf(format, args...)}
}

// Ours is a fault of this machine or its settings, which says nothing about the target.
func Ours(code task.CheckCode, format string, args ...any) *Fault {
	return &Fault{Outcome: task.CheckError, Code: code, Text: fmt.Sprintf(format, args...)}
}

// Misconfigured is a setting that cannot be used.
func Misconfigured(field string, err error) *Fault {
	f := Ours(task.CodeConfig, "%s: %s", field, err)
	f.Err = err
	return f
}

// worse returns the worse of two faults; of equals the first.
func worse(a, b *Fault) *Fault {
	rank := map[task.CheckOutcome]int{task.CheckOK: 0, task.CheckDegraded: 1, task.CheckFail: 2, task.CheckError: 3}
	switch {
	case a == nil:
		return b
	case b == nil || rank[a.Outcome] >= rank[b.Outcome]:
		return a
	}
	return b
}

// blockedText is the same for all denied addresses, so that a check cannot find
// out which of them answer.
const blockedText = "the target's address may not be reached by this worker; its operator can allow it (--allow-addresses)"

const redirectBlockedText = "the target redirects to an address that is not public, and that this worker may not reach; its operator can allow it (--allow-addresses)"

// NetFault returns the fault of an error, by the stage of its exchange. The order
// matters: faults of this machine come first, because they look like the
// target's.
func (c *Check) NetFault(ctx context.Context, x *Exchange, err error) *Fault {
	at := x.At()
	f := ownFault(err)
	if f != nil && f.Code == task.CodeBlocked {
		x.Dials(netip.Addr{}) // addresses within a network are private
	}
	if f == nil && CutShort(ctx) != nil {
		f = Ours(task.CodeLost, "the check was cut short: %s", CutShort(ctx))
	}
	if f == nil && (ctx.Err() != nil || IsTimeout(err)) {
		f = c.stalled(x, at)
	}
	if f == nil {
		f = stageFault(at, err)
	}
	f.Err = err
	return f
}

// ownFault returns a fault of this machine, or nil if the target may be at fault.
func ownFault(err error) *Fault {
	switch {
	case errors.As(err, new(*guard.Denied)):
		return Ours(task.CodeBlocked, blockedText)
	case errors.Is(err, errFamily):
		return Ours(task.CodeConfig, "%s", err)
	case Is(err, syscall.ENETUNREACH, syscall.ENETDOWN), strings.Contains(err.Error(), "network is unreachable"):
		return Ours(task.CodeNetwork, "this machine has no route to the target: the network is unreachable")
	case Is(err, syscall.EPERM, syscall.EACCES):
		return Ours(task.CodeNetwork, "this machine does not let the worker send there: %s", Cause(err))
	case Is(err, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL):
		return Ours(task.CodeInternal, "this machine has run out of something: %s", Cause(err))
	case isResolverGone(err):
		return Ours(task.CodeNetwork, "this machine's resolver cannot be reached: %s", Cause(err))
	}
	return nil
}

// Is reports whether an error is one of these system errors.
func Is(err error, numbers ...syscall.Errno) bool {
	for _, n := range numbers {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}

// isResolverGone recognizes a lookup that no server answered. The resolver keeps
// only the text of its errors.
func isResolverGone(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && strings.Contains(dns.Err, "connection refused")
}

// IsTimeout reports whether an error is a timeout.
func IsTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// stalled returns a timeout that names the stage at which it happened.
func (c *Check) stalled(x *Exchange, at Stage) *Fault {
	code := map[Stage]task.CheckCode{
		StageDNS: task.CodeDNSTimeout, StageConnect: task.CodeConnectTimeout, StageTLS: task.CodeTLSTimeout,
		StageWrite: task.CodeWrite, StageWait: task.CodeFirstByte, StageBody: task.CodeBodyTimeout,
	}[at]
	if code == "" {
		code = task.CodeTimeout
	}
	f := Failing(code, "no end within the timeout of %s: it stalled %s", Short(c.Budget), stageTexts[at])
	x.mu.Lock()
	defer x.mu.Unlock()
	if done := x.phases; done.DNS+done.Connect+done.TLS > 0 && at > StageDNS {
		f.Text += fmt.Sprintf(" (look-up %s, connect %s", Short(done.DNS.D()), Short(done.Connect.D()))
		if done.TLS > 0 {
			f.Text += ", TLS " + Short(done.TLS.D())
		}
		f.Text += ")"
	}
	return f
}

// stageFault returns the fault of an error that is not a timeout.
func stageFault(at Stage, err error) *Fault {
	switch at {
	case StageDNS:
		return dnsFault(err)
	case StageConnect:
		if errors.Is(err, syscall.ECONNREFUSED) {
			return Failing(task.CodeConnectRefused, "the target refused the connection")
		}
		return Failing(task.CodeConnectFailed, "no connection: %s", Cause(err))
	case StageTLS:
		return TLSFault(err)
	case StageBody:
		return Failing(task.CodeBodyBroken, "the body broke off: %s", Cause(err))
	}
	if isAlert(err) {
		return TLSFault(err) // TLS 1.3 refuses a client after the handshake
	}
	switch {
	case strings.Contains(err.Error(), "client conn could not be established"): // HTTP/2 says no more
		return Failing(task.CodeProtocol, "the target closed the connection before it was asked anything")
	case isUnasked(err):
		return Failing(task.CodeProtocol, "the target spoke or closed the connection before it was asked: it does not speak HTTP on this port")
	case at == StageWrite:
		return Failing(task.CodeWrite, "the request could not be sent: %s", Cause(err))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), Is(err, syscall.ECONNRESET, syscall.EPIPE):
		return Failing(task.CodeProtocol, "the target closed the connection %s", stageTexts[at])
	}
	return Failing(task.CodeProtocol, "the answer cannot be read: %s", Cause(err))
}

func dnsFault(err error) *Fault {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		return Failing(task.CodeDNSFailed, "the name cannot be looked up: %s", Cause(err))
	case dns.IsNotFound:
		return Failing(task.CodeDNSNotFound, "the name %s does not exist, or has no address of the family", dns.Name)
	case dns.IsTimeout:
		return Failing(task.CodeDNSTimeout, "the look-up of %s had no answer in time", dns.Name)
	}
	return Failing(task.CodeDNSFailed, "the look-up of %s failed: %s", dns.Name, dns.Err)
}

// isUnasked recognizes data, or a closed connection, before the request was sent,
// by the texts of net/http.
func isUnasked(err error) bool {
	return strings.Contains(err.Error(), "readLoopPeekFailLocked")
}

// isAlert recognizes a TLS alert of the other side after the handshake.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// Reason returns the text of an error without the URL prefix of net/http, and
// without queries.
func Reason(err error) string {
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no end within the timeout"
	}
	return RedactText(err.Error())
}

// Cause returns the inner text of an error, without addresses, which are already
// known, and without possible secrets in URLs.
func Cause(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op) && op.Err != nil && op.Op != "remote error":
		return RedactText(op.Err.Error())
	}
	return strings.TrimPrefix(Reason(err), "net/http: HTTP/1.x transport connection broken: ")
}
