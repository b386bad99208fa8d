//go:build unix

package notify

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/belfry-run/belfry/internal/procgroup"
)

// runGroup runs a program in a process group of its own. It kills the group when
// the context ends, and the rest of the group when the program has ended. The
// order matters: see [procgroup].
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = procgroup.Attr()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited, reap := procgroup.Await(cmd)
	select {
	case <-exited:
	case <-ctx.Done():
		procgroup.Kill(cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	}
	procgroup.Kill(cmd.Process.Pid, syscall.SIGKILL)
	return reap()
}
