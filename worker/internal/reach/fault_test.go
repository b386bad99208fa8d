package reach

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

func begun(at Stage) (*Look, *Trip) {
	l := new(Net).Begin(context.Background(), belfry.Task{})
	l.Budget = 10 * time.Second
	t := l.Trip()
	t.Enter(at)
	return l, t
}

// What loopback cannot be made to do is told apart here, by what the system
// says of it.
func TestWhatTheSystemSays(t *testing.T) {
	t.Parallel()
	denied := &guard.Denied{Addr: netip.MustParseAddr("10.0.0.1"), Why: "is private"}
	for name, c := range map[string]struct {
		at      Stage
		err     error
		outcome belfry.CheckOutcome
		code    belfry.CheckCode
	}{
		"denied":                 {StageConnect, &net.OpError{Op: "dial", Err: denied}, belfry.CheckError, belfry.CodeBlocked},
		"no route at all":        {StageConnect, dialError(syscall.ENETUNREACH), belfry.CheckError, belfry.CodeNetwork},
		"no route, as text":      {StageDNS, &net.DNSError{Err: "dial udp: connect: network is unreachable"}, belfry.CheckError, belfry.CodeNetwork},
		"interface down":         {StageConnect, dialError(syscall.ENETDOWN), belfry.CheckError, belfry.CodeNetwork},
		"own firewall":           {StageConnect, dialError(syscall.EPERM), belfry.CheckError, belfry.CodeNetwork},
		"no more files":          {StageConnect, dialError(syscall.EMFILE), belfry.CheckError, belfry.CodeInternal},
		"no more ports":          {StageConnect, dialError(syscall.EADDRNOTAVAIL), belfry.CheckError, belfry.CodeInternal},
		"resolver refuses":       {StageDNS, &net.DNSError{Err: "read udp: read: connection refused"}, belfry.CheckError, belfry.CodeNetwork},
		"one host without route": {StageConnect, dialError(syscall.EHOSTUNREACH), belfry.CheckFail, belfry.CodeConnectFailed},
		"refused":                {StageConnect, dialError(syscall.ECONNREFUSED), belfry.CheckFail, belfry.CodeConnectRefused},
		"no answer to SYN":       {StageConnect, dialError(syscall.ETIMEDOUT), belfry.CheckFail, belfry.CodeConnectTimeout},
		"out of time connecting": {StageConnect, os.ErrDeadlineExceeded, belfry.CheckFail, belfry.CodeConnectTimeout},
		"out of time sending":    {StageWrite, os.ErrDeadlineExceeded, belfry.CheckFail, belfry.CodeWrite},
		"reset while sending":    {StageWrite, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeWrite},
		"reset before an answer": {StageWait, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeProtocol},
		"reset in the body":      {StageBody, dialError(syscall.ECONNRESET), belfry.CheckFail, belfry.CodeBodyBroken},
	} {
		l, trip := begun(c.at)
		if f := l.NetFault(t.Context(), trip, c.err); f.Outcome != c.outcome || f.Code != c.code || !errors.Is(f, c.err) {
			t.Errorf("%s: %s %s: %s, want %s %s", name, f.Outcome, f.Code, f.Text, c.outcome, c.code)
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
		l, trip := begun(StageConnect)
		if f := l.NetFault(ctx, trip, context.Canceled); f.Code != code {
			t.Errorf("%v: %s, want %s", cause, f.Code, code)
		}
	}
}

func TestATimeoutIsOursWhenWeWaitedForHalfOfIt(t *testing.T) {
	t.Parallel()
	for waited, code := range map[time.Duration]belfry.CheckCode{4 * time.Second: belfry.CodeFirstByte, 5 * time.Second: belfry.CodeLate} {
		l, _ := begun(StageWait)
		l.watch.idle = waited
		if f := l.late(Failing(belfry.CodeFirstByte, "slow")); f.Code != code {
			t.Errorf("after %s: %s, want %s", waited, f.Code, code)
		}
		if f := l.late(Failing(belfry.CodeStatus, "500")); f.Code != belfry.CodeStatus {
			t.Errorf("an answer is an answer, however late: %s", f.Code)
		}
	}
}
