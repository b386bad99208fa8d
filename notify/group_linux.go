package notify

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await closes exited when the program has ended, and leaves it unreaped: its
// number still means its group.
func await(cmd *exec.Cmd) (exited <-chan struct{}, reap func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return ended, cmd.Wait
}
