//go:build unix && !linux

package procgroup

import (
	"os/exec"
	"syscall"
)

// Attr is for a program that gets a group of its own and, on Linux, dies with
// its parent.
func Attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Await closes exited when a program that was started has ended and was reaped.
// That leaves a moment in which the number of its group could come to mean
// another one.
func Await(cmd *exec.Cmd) (exited <-chan struct{}, reap func() error) {
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
