package seccomp

import "golang.org/x/sys/unix"

const (
	// Arch is the processor whose calls a filter knows. 0: there is no list for it.
	Arch = unix.AUDIT_ARCH_X86_64
	// foreignCalls and above are those of x32: the same calls by other numbers.
	foreignCalls = 0x40000000
)

// deniedHere are calls that only this processor has.
var deniedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, // the hardware's ports
	unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL, // forgotten ones
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
}
