package probe

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/task"
)

func TestASystemThatForbidsPings(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	defer e.Close()
	for _, n := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EPROTONOSUPPORT} {
		c := e.begin(t.Context(), task.Task{})
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", n)}
		if f := c.pingFault(t.Context(), c.NewExchange(), refused); f.Outcome != task.CheckError || f.Code != task.CodeUnsupported {
			t.Errorf("%v: %s %s", n, f.Outcome, f.Code)
		}
	}
}
