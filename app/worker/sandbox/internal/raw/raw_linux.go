package raw

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// The pointers of raw's and raw6's arguments stay where they are.
//
//go:uintptrescapes
func Call(call, a, b, c uintptr) syscall.Errno {
	_, _, e := unix.RawSyscall(call, a, b, c)
	return e
}

//go:uintptrescapes
func Call6(call, a, b, c, d, e uintptr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(call, a, b, c, d, e, 0)
	return errno
}
