package health

import (
	"errors"
	"syscall"
)

// Short reports whether an error means a shortage on this machine: of open files, processes, memory or disk. EBADF counts:
// starting a process moves files to unused numbers, and dup(2) returns EBADF if these exceed the limit on open files.
func Short(err error) bool {
	for _, n := range [...]syscall.Errno{syscall.EBADF, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}
