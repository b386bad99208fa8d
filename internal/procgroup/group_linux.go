package procgroup

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Attr is for a program that gets a group of its own and, on Linux, dies with
// its parent.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Await closes exited when a program that was started has ended, and leaves it
// unreaped, so that its number still means its group.
func Await(cmd *exec.Cmd) (exited <-chan struct{}, reap func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	return ended, cmd.Wait
}
