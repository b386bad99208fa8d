package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/cgroup"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/kill"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/raw"
	"github.com/belfry-run/belfry/app/worker/sandbox/internal/seccomp"
)

// Functions for tests alone.
var (
	KillUser  = kill.User
	KillGroup = cgroup.Kill
)

// Ready makes a group of version 2 ready to limit its children.
func Ready(own, controller string) (dir, why string) {
	h, why := cgroup.Tree{Version: 2, Own: own}.Ready(controller)
	return h.Own, why
}

// Contain leaves this thread as a container's runtime leaves a process: with a
// filter that keeps it from mounts and namespaces, and with the given capabilities at most.
func Contain(capabilities ...uintptr) error {
	runtime.LockOSThread()
	if e := raw.Call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(seccomp.New(true, true, true)))); e != 0 {
		return e
	}
	keep := map[uintptr]bool{}
	for _, c := range capabilities {
		keep[c] = true
	}
	for c := uintptr(0); raw.Call6(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0, 0, 0) == 0; c++ {
		if !keep[c] {
			if e := raw.Call6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0); e != 0 {
				return e
			}
		}
	}
	return nil
}
