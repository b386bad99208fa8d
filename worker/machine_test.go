package worker

import (
	"fmt"
	"syscall"
	"testing"
)

func TestFaultsOfTheMachine(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("fork/exec: %w", syscall.EAGAIN): true, fmt.Errorf("fork/exec: %w", syscall.EBADF): true, syscall.EMFILE: true, syscall.ENOSPC: true,
		syscall.ENOENT: false, syscall.EACCES: false, syscall.ENOEXEC: false,
	} {
		if MachineFault(err) != want {
			t.Errorf("%v is a fault of the machine: %v", err, !want)
		}
	}
}
