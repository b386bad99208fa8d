package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-run/belfry"
	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/worker"
)

func dialError(n syscall.Errno) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", n)}
}

func begun(at stage) (*look, *trip) {
	l := newLook(nil, belfry.Task{}, time.Now())
	l.budget = 10 * time.Second
	t := newTrip(&l.watch)
	t.enter(at)
	return l, t
}

// What loopback cannot be made to do is told apart here, by what the system
// says of it.
func TestWhatTheSystemSays(t *testing.T) {
	t.Parallel()
	denied := &guard.Denied{Addr: netip.MustParseAddr("10.0.0.1"), Why: "is private"}
	for name, c := range map[string]struct {
		at      stage
		err     error
		outcome belfry.CheckOutcome
		code    belfry.CheckCode
	}{
		"denied":                 {stageConnect, &net.OpError{Op: "dial", Err: denied}, belfry.CheckError, belfry.CodeBlocked},
		"no route at all":        {stageConnect, dialError(syscall.ENETUNREACH), belfry.CheckError, belfry.CodeNetwork},
		"no route, as text":      {stageDNS, &net.DNSError{Err: "dial udp: connect: network is unreachable"}, belfry.CheckError, belfry.CodeNetwork},
		"interface down":         {stageConnect, dialError(syscall.ENETDOWN), belfry.CheckError, belfry.CodeNetwork},
		"own firewall":           {stageConnect, dialError(syscall.EPERM), belfry.CheckError, belfry.CodeNetwork},
		"no more files":          {stageConnect, dialError(syscall.EMFILE), belfry.CheckError, belfry.CodeInternal},
		"no more ports":          {stageConnect, dialError(syscall.EADDRNOTAVAIL), belfry.CheckError, belfry.CodeInternal},
		"resolver refuses":       {stageDNS, &net.DNSError{Err: "read udp: read: connection refused"}, belfry.CheckError, belfry.CodeNetwork},
		"one host without route": {stageConnect, dialError(syscall.EHOSTUNREACH), belfry.CheckFail, belfry.CodeConnectFailed},
		"refused":                {stageConnect, dialError(syscall.ECONNREFUSED), belfry.CheckFail, belfry.CodeConnectRefused},
		"no answer to SYN":       {stageConnect, dialError(syscall.ETIMEDOUT), belfry.CheckFail, belfry.CodeConnectTimeout},
		"out of time connecting": {stageConnect, os.ErrDeadlineExceeded, belfry.CheckFail, belfry.CodeConnectTimeout},
		"out of time sending":    {stageWrite, os.ErrDeadlineExceeded, belfry.CheckFail, belfry.CodeWrite},
		"reset while sending":    {stageWrite, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeWrite},
		"reset before an answer": {stageWait, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeProtocol},
		"reset in the body":      {stageBody, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeBodyBroken},
	} {
		l, trip := begun(c.at)
		if f := l.netFault(t.Context(), trip, c.err); f.outcome != c.outcome || f.code != c.code || !errors.Is(f, c.err) {
			t.Errorf("%s: %s %s: %s, want %s %s", name, f.outcome, f.code, f.text, c.outcome, c.code)
		}
	}
}

// A deadline is the target's to keep; any other end of the context is ours.
func TestAnEndOfTheContext(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]belfry.CheckCode{
		worker.ErrTimeout: belfry.CodeConnectTimeout, worker.ErrShutdown: belfry.CodeLost, worker.ErrLost: belfry.CodeLost, worker.ErrCanceled: belfry.CodeLost,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		l, trip := begun(stageConnect)
		if f := l.netFault(ctx, trip, context.Canceled); f.code != code {
			t.Errorf("%v: %s, want %s", cause, f.code, code)
		}
	}
}

func TestATimeoutIsOursWhenWeWaitedForHalfOfIt(t *testing.T) {
	t.Parallel()
	for waited, code := range map[time.Duration]belfry.CheckCode{4 * time.Second: belfry.CodeFirstByte, 5 * time.Second: belfry.CodeLate} {
		l, _ := begun(stageWait)
		l.watch.idle = waited
		if f := l.late(failing(belfry.CodeFirstByte, "slow")); f.code != code {
			t.Errorf("after %s: %s, want %s", waited, f.code, code)
		}
		if f := l.late(failing(belfry.CodeStatus, "500")); f.code != belfry.CodeStatus {
			t.Errorf("an answer is an answer, however late: %s", f.code)
		}
	}
}

func TestASystemThatForbidsPings(t *testing.T) {
	t.Parallel()
	for _, n := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EPROTONOSUPPORT} {
		l, trip := begun(stageTurn)
		if f := l.pingFault(t.Context(), trip, dialError(n)); f.outcome != belfry.CheckError || f.code != belfry.CodeUnsupported {
			t.Errorf("%v: %s %s", n, f.outcome, f.code)
		}
	}
}
