//go:build amd64 || arm64

package seccomp

import (
	"math/bits"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// call is what the kernel shows a filter.
type call struct {
	nr, arch uint32
	args     [6]uint64
}

func (c call) word(offset uint32) uint32 {
	switch {
	case offset == 0:
		return c.nr
	case offset == 4:
		return c.arch
	case offset >= 16 && offset%4 == 0 && offset < 64:
		return uint32(c.args[(offset-16)/8] >> (offset % 8 * 8))
	}
	panic(offset)
}

// run is the kernel's machine, as far as the filter uses it. The process that
// asks has the least rights anyway, so the kernel's own answer would not tell
// the filter's from that of the call.
func (f filter) run(c call) uint32 {
	var a uint32
	for at := 0; ; at++ {
		in := f[at]
		taken := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = c.word(in.K)
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JEQ:
			taken = a == in.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JGE:
			taken = a >= in.K
		case unix.BPF_JMP | unix.BPF_K | unix.BPF_JSET:
			taken = a&in.K != 0
		default:
			panic(in.Code)
		}
		if taken {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
}

func TestTheFilterAnswers(t *testing.T) {
	t.Parallel()
	f := assemble([]uint32{unix.AF_INET, unix.AF_INET6}, sharedCalls)
	answers := func(name string, want uint32, nr uint32, args ...uint64) {
		t.Helper()
		c := call{nr: nr, arch: Arch}
		copy(c.args[:], args)
		if got := f.run(c); got != want {
			t.Errorf("%s: %#x instead of %#x", name, got, want)
		}
	}
	named := map[string]uint32{
		"unshare": unix.SYS_UNSHARE, "setns": unix.SYS_SETNS, "ptrace": unix.SYS_PTRACE, "bpf": unix.SYS_BPF, "keyctl": unix.SYS_KEYCTL,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "fsopen": unix.SYS_FSOPEN,
		"move_mount": unix.SYS_MOVE_MOUNT, "pivot_root": unix.SYS_PIVOT_ROOT, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
		"userfaultfd": unix.SYS_USERFAULTFD, "kexec_load": unix.SYS_KEXEC_LOAD, "init_module": unix.SYS_INIT_MODULE, "shmget": unix.SYS_SHMGET,
	}
	for name, nr := range named {
		answers(name, refuse, nr)
	}
	for _, nr := range slices.Concat(deniedCalls, deniedHere, sharedCalls) {
		answers("a denied call", refuse, nr)
	}
	for name, nr := range map[string]uint32{
		"read": unix.SYS_READ, "openat": unix.SYS_OPENAT, "execve": unix.SYS_EXECVE, "futex": unix.SYS_FUTEX, "mmap": unix.SYS_MMAP,
		"kill": unix.SYS_KILL, "socketpair": unix.SYS_SOCKETPAIR, "prctl": unix.SYS_PRCTL, "memfd_create": unix.SYS_MEMFD_CREATE,
	} {
		answers(name, allow, nr)
	}
	answers("clone3", unknown, unix.SYS_CLONE3)
	answers("fork", allow, unix.SYS_CLONE, uint64(unix.SIGCHLD))
	for flags := uint64(namespaceFlags); flags != 0; flags &= flags - 1 {
		flag := uint64(1) << bits.TrailingZeros64(flags)
		answers("clone with a namespace", refuse, unix.SYS_CLONE, flag|uint64(unix.SIGCHLD))
		answers("clone with a namespace, and more above", refuse, unix.SYS_CLONE, flag|1<<40)
	}
	answers("inet", allow, unix.SYS_SOCKET, unix.AF_INET)
	answers("inet, with what the kernel ignores", allow, unix.SYS_SOCKET, unix.AF_INET|1<<32)
	answers("unix", refuse, unix.SYS_SOCKET, unix.AF_UNIX)
	answers("vsock, looking like inet above", refuse, unix.SYS_SOCKET, unix.AF_VSOCK|unix.AF_INET<<32)
	answers("ioctl", allow, unix.SYS_IOCTL, 0, unix.TCGETS)
	answers("typing", refuse, unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32)
	if foreignCalls != 0 {
		answers("x32", unknown, foreignCalls|unix.SYS_READ)
	}
	if got := f.run(call{nr: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}); got != kill {
		t.Errorf("another processor's table: %#x", got)
	}
	f = assemble(sockets(true, true, true), nil)
	answers("addresses and routes", allow, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	answers("connections of the machine", refuse, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG)
	f = assemble(nil, nil)
	answers("no socket at all", refuse, unix.SYS_SOCKET, unix.AF_INET)
	answers("with an IPC namespace", allow, unix.SYS_SHMGET)
}

// The kernel takes 4096 instructions, and one of its jumps reaches 255.
func TestTheFilterIsSmall(t *testing.T) {
	t.Parallel()
	f := assemble(sockets(true, true, true), sharedCalls)
	if len(f) > 400 {
		t.Error(len(f), "instructions")
	}
	for i, in := range f {
		if in.Code&0x07 == unix.BPF_JMP && i+1+int(max(in.Jt, in.Jf)) >= len(f) {
			t.Errorf("instruction %d jumps out of the filter", i)
		}
	}
	if last := f[len(f)-1]; last.Code != unix.BPF_RET|unix.BPF_K || last.K != allow {
		t.Errorf("%+v", last)
	}
}

func TestSocketFamiliesOfAProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		got, want []uint32
	}{
		"nothing":                        {sockets(false, false, true), nil},
		"the machine's network":          {sockets(true, false, true), []uint32{unix.AF_INET, unix.AF_INET6}},
		"a network of its own":           {sockets(false, true, false), []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_UNIX}},
		"the machine's, with scope":      {sockets(true, true, true), []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_UNIX}},
		"the machine's, without a scope": {sockets(true, true, false), []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}
