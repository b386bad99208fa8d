//go:build unix && !linux

package notify

import (
	"os/exec"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await closes exited when the program has ended and was reaped.
func await(cmd *exec.Cmd) (exited <-chan struct{}, reap func() error) {
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		err = cmd.Wait()
	}()
	return ended, func() error {
		<-ended
		return err
	}
}
