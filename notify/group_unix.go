//go:build unix

package notify

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
)

// runGroup runs a program in a process group of its own, and kills all of it
// when the context ends, and what is left of it when the program has ended.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	// The kernel's promise to kill the program when its parent dies is made to
	// the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = groupAttr()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited, reap := await(cmd)
	select {
	case <-exited:
	case <-ctx.Done():
		killGroup(cmd.Process.Pid)
		<-exited
	}
	killGroup(cmd.Process.Pid)
	return reap()
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
