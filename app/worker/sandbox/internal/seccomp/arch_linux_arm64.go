package seccomp

import "golang.org/x/sys/unix"

const (
	// Arch is the processor whose calls a filter knows. 0: there is no list for it.
	Arch         = unix.AUDIT_ARCH_AARCH64
	foreignCalls = 0
)

// deniedHere are calls that only this processor has.
var deniedHere []uint32
