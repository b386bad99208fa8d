package child

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/raw"
)

// dropPrivileges makes this thread the user of the run, without groups,
// capabilities and ways to get any. The order matters: each step needs a
// capability that a later step drops.
func (b *setupState) dropPrivileges() error {
	for c := uintptr(0); raw.Call6(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0, 0, 0) == 0; c++ {
		// Without CAP_SETPCAP the bounding set does not matter: no_new_privs already
		// blocks files that would give capabilities.
		if e := raw.Call6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0); e != 0 && b.UID >= 0 {
			return &isolation.Fault{Step: "drop capabilities", Err: e}
		}
	}
	if b.UID >= 0 {
		if e := raw.Call(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			return &isolation.Fault{Step: "setgroups", Err: e}
		}
		id := uintptr(b.GID)
		if e := raw.Call(unix.SYS_SETRESGID, id, id, id); e != 0 {
			return &isolation.Fault{Step: "setgid", Err: e}
		}
		id = uintptr(b.UID)
		if e := raw.Call(unix.SYS_SETRESUID, id, id, id); e != 0 {
			return &isolation.Fault{Step: "setuid", Err: e}
		}
	}
	raw.Call6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if e := raw.Call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); e != 0 {
		return &isolation.Fault{Step: "drop capabilities", Err: e}
	}
	return nil
}

// capabilities returns the effective capabilities of this thread.
func capabilities() (effective uint64, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	err = unix.Capget(&header, &have[0])
	return uint64(have[1].Effective)<<32 | uint64(have[0].Effective), err
}

// Worthy are the capabilities that the setup of a root needs. Without root they
// come from a new user namespace, and are valid only there.
var Worthy = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
