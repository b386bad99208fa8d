//go:build unix

package process

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runGroup runs a program in a process group of its own, stops all of it when
// the context ends, and leaves nothing behind.
//
// Its order matters: the group is killed before the program is reaped (where
// the system can tell the one from the other), because afterwards its number
// may belong to somebody else.
func runGroup(ctx context.Context, cmd *exec.Cmd, lost <-chan struct{}, grace time.Duration, mark string) error {
	// The kernel's promise to kill the program when its parent dies is made to
	// the thread that started it, so that thread must stay as long as it runs.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = groupAttr()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited, reap := await(cmd)
	awaitOrStop(ctx, cmd.Process.Pid, exited, lost, grace, mark)
	killGroup(cmd.Process.Pid, syscall.SIGKILL)
	killMarked(mark)
	return reap()
}

// awaitOrStop returns when the program has ended, by itself or not.
func awaitOrStop(ctx context.Context, pid int, exited, lost <-chan struct{}, grace time.Duration, mark string) {
	select {
	case <-exited:
		return
	case <-ctx.Done():
	}
	killGroup(pid, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
		return
	case <-timer.C:
	case <-lost: // the next attempt may start any moment, there is no grace left
	}
	killGroup(pid, syscall.SIGKILL)
	killMarked(mark)
	<-exited
}

func killGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }

func signalOf(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(status.Signal()))
}
