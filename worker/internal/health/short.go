package health

import (
	"errors"
	"syscall"
)

// Short reports that an error is of a machine that has run out of something. EBADF is among it because a start moves files to
// numbers above those in use, and has it (dup(2)) where these are beyond the limit on open files.
func Short(err error) bool {
	for _, n := range [...]syscall.Errno{syscall.EBADF, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, n) {
			return true
		}
	}
	return false
}
