//go:build unix

package notify

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/belfry-run/belfry/internal/procgroup"
)

// runGroup runs a program in a process group of its own, and kills all of it
// when the context ends, and what is left of it when the program has ended. Its
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
