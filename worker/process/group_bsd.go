//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await closes exited when the program has ended and was reaped. That leaves a
// moment in which the number of its group could come to mean another one.
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

// killMarked needs /proc, which is Linux's.
func killMarked(string) {}
