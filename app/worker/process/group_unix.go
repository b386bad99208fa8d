//go:build unix

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/internal/procgroup"
	"github.com/belfry-run/belfry/worker"
)

// runGroup runs a program in a process group of its own. It stops the group when
// the context ends, so that no process remains. The order matters: see
// [procgroup].
func runGroup(ctx context.Context, r *worker.Run, cmd *exec.Cmd, mark string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = procgroup.Attr()
	started, ended, err := watchOver(r, mark)
	switch {
	case worker.MachineFault(err):
		ended()
		return err
	case err != nil:
		_, _ = fmt.Fprintln(r.Log, "belfry: nothing ends this command if its worker hangs:", err)
	}
	if err := cmd.Start(); err != nil {
		ended()
		return err
	}
	started(cmd.Process.Pid)
	exited, reap := procgroup.Await(cmd)
	awaitOrStop(ctx, cmd.Process.Pid, exited, r.Lost(), killGrace(r), mark)
	procgroup.Kill(cmd.Process.Pid, syscall.SIGKILL)
	killMarked(mark)
	late := ended()
	if end, _ := r.Until(); !end.IsZero() && !time.Now().Before(end) {
		<-ctx.Done() // the watch may have killed the command: if this process was stopped, it now learns that its session is over
	}
	err = reap()
	if late && ctx.Err() == nil && signalOf(cmd.ProcessState) == "SIGKILL" {
		return errHeardLate
	}
	return err
}

// awaitOrStop waits for the end of the program, and stops it when the context ends.
func awaitOrStop(ctx context.Context, pid int, exited, lost <-chan struct{}, grace time.Duration, mark string) {
	select {
	case <-exited:
		return
	case <-ctx.Done():
	}
	procgroup.Kill(pid, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
		return
	case <-timer.C:
	case <-lost: // the next attempt may start at any moment, so there is no grace
	}
	procgroup.Kill(pid, syscall.SIGKILL)
	killMarked(mark)
	<-exited
}

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
