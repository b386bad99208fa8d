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

	"github.com/belfry-run/belfry/internal/guard"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/worker"
)

func dialError(n syscall.Errno) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", n)}
}

func begun(at Stage) (*Check, *Exchange) {
	c := new(Net).Begin(context.Background(), task.Task{})
	c.Budget = 10 * time.Second
	x := c.NewExchange()
	x.Enter(at)
	return c, x
}

// What loopback cannot be made to do is told apart here, by what the system
// says of it.
func TestSystemErrorsGiveTheirFaults(t *testing.T) {
	t.Parallel()
	denied := &guard.Denied{Addr: netip.MustParseAddr("10.0.0.1"), Why: "is private"}
	for name, c := range map[string]struct {
		at      Stage
		err     error
		outcome task.CheckOutcome
		code    task.CheckCode
	}{
		"denied":                 {StageConnect, &net.OpError{Op: "dial", Err: denied}, task.CheckError, task.CodeBlocked},
		"no route at all":        {StageConnect, dialError(syscall.ENETUNREACH), task.CheckError, task.CodeNetwork},
		"no route, as text":      {StageDNS, &net.DNSError{Err: "dial udp: connect: network is unreachable"}, task.CheckError, task.CodeNetwork},
		"interface down":         {StageConnect, dialError(syscall.ENETDOWN), task.CheckError, task.CodeNetwork},
		"own firewall":           {StageConnect, dialError(syscall.EPERM), task.CheckError, task.CodeNetwork},
		"no more files":          {StageConnect, dialError(syscall.EMFILE), task.CheckError, task.CodeInternal},
		"no more ports":          {StageConnect, dialError(syscall.EADDRNOTAVAIL), task.CheckError, task.CodeInternal},
		"resolver refuses":       {StageDNS, &net.DNSError{Err: "read udp: read: connection refused"}, task.CheckError, task.CodeNetwork},
		"one host without route": {StageConnect, dialError(syscall.EHOSTUNREACH), task.CheckFail, task.CodeConnectFailed},
		"refused":                {StageConnect, dialError(syscall.ECONNREFUSED), task.CheckFail, task.CodeConnectRefused},
		"no answer to SYN":       {StageConnect, dialError(syscall.ETIMEDOUT), task.CheckFail, task.CodeConnectTimeout},
		"out of time connecting": {StageConnect, os.ErrDeadlineExceeded, task.CheckFail, task.CodeConnectTimeout},
		"out of time sending":    {StageWrite, os.ErrDeadlineExceeded, task.CheckFail, task.CodeWrite},
		"reset while sending":    {StageWrite, dialError(syscall.ECONNRESET), task.CheckFail, task.CodeWrite},
		"reset before an answer": {StageWait, dialError(syscall.ECONNRESET), task.CheckFail, task.CodeProtocol},
		"reset in the body":      {StageBody, dialError(syscall.ECONNRESET), task.CheckFail, task.CodeBodyBroken},
	} {
		l, x := begun(c.at)
		if f := l.NetFault(t.Context(), x, c.err); f.Outcome != c.outcome || f.Code != c.code || !errors.Is(f, c.err) {
			t.Errorf("%s: %s %s: %s, want %s %s", name, f.Outcome, f.Code, f.Text, c.outcome, c.code)
		}
	}
}

// A deadline is the target's to keep; any other end of the context is ours.
func TestAnEndOfTheContext(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]task.CheckCode{
		worker.ErrTimeout: task.CodeConnectTimeout, worker.ErrShutdown: task.CodeLost, worker.ErrLost: task.CodeLost, worker.ErrCanceled: task.CodeLost,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		c, x := begun(StageConnect)
		if f := c.NetFault(ctx, x, context.Canceled); f.Code != code {
			t.Errorf("%v: %s, want %s", cause, f.Code, code)
		}
	}
}

func TestATimeoutIsOursWhenWeWaitedForHalfOfIt(t *testing.T) {
	t.Parallel()
	for waited, code := range map[time.Duration]task.CheckCode{4 * time.Second: task.CodeFirstByte, 5 * time.Second: task.CodeLate} {
		c, _ := begun(StageWait)
		c.clock.idle = waited
		if f := c.lateFault(Failing(task.CodeFirstByte, "slow")); f.Code != code {
			t.Errorf("after %s: %s, want %s", waited, f.Code, code)
		}
		if f := c.lateFault(Failing(task.CodeStatus, "500")); f.Code != task.CodeStatus {
			t.Errorf("an answer is an answer, however late: %s", f.Code)
		}
	}
}
