package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	foreignCalls = 0
)

// deniedHere are calls that only this processor has.
var deniedHere []uint32
