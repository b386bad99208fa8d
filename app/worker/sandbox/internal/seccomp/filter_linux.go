// Package seccomp creates the filter of system calls for programs in a sandbox. It refuses calls that no job needs.
package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data. Arguments have 64 bits. The filter reads their
// low halves, because the kernel uses only these.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16 // little endian
	dataArg1 = 24
	dataArg2 = 32
)

// Answers of a filter.
const (
	allow   = unix.SECCOMP_RET_ALLOW
	refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill    = unix.SECCOMP_RET_KILL_PROCESS
)

// namespaceFlags are the flags of clone that create a namespace: in a user
// namespace of its own a program would be root again, and could attack most of
// the kernel.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// filter is a program for the kernel's classic BPF machine. It runs at every
// system call, from the first instruction to one that answers.
type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) answer(with uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with})
}

// when runs the block if the comparison of the loaded value holds, and otherwise
// skips it. A block has at most 255 instructions.
func (f *filter) when(compare uint16, value uint32, block func(*filter)) {
	var then filter
	block(&then)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | compare, K: value, Jf: uint8(len(then))})
	*f = append(*f, then...)
}

// unless is the opposite of when.
func (f *filter) unless(compare uint16, value uint32, block func(*filter)) {
	at := len(*f)
	f.when(compare, value, block)
	jump := &(*f)[at]
	jump.Jt, jump.Jf = jump.Jf, jump.Jt
}

func answer(with uint32) func(*filter) { return func(f *filter) { f.answer(with) } }

// assemble returns the filter. families are the allowed families of sockets,
// besides are further calls that are refused like deniedCalls.
func assemble(families, besides []uint32) filter {
	f := &filter{}
	f.load(dataArch)
	f.unless(unix.BPF_JEQ, Arch, answer(kill)) // another processor's calls, such as those of 32-bit programs, have other numbers
	f.load(dataCall)
	if foreignCalls != 0 {
		f.when(unix.BPF_JGE, foreignCalls, answer(unknown))
	}
	// The flags of clone3 are behind a pointer, which a filter cannot read. Callers
	// fall back to clone.
	f.when(unix.BPF_JEQ, unix.SYS_CLONE3, answer(unknown))
	for _, call := range slices.Concat(deniedCalls, deniedHere, besides) {
		f.when(unix.BPF_JEQ, call, answer(refuse))
	}
	f.when(unix.BPF_JEQ, unix.SYS_CLONE, func(f *filter) {
		f.load(dataArg0)
		f.when(unix.BPF_JSET, namespaceFlags, answer(refuse))
		f.answer(allow)
	})
	// The program must not insert input into a terminal that it gets.
	f.when(unix.BPF_JEQ, unix.SYS_IOCTL, func(f *filter) {
		f.load(dataArg1)
		f.when(unix.BPF_JEQ, unix.TIOCSTI, answer(refuse))
		f.when(unix.BPF_JEQ, unix.TIOCLINUX, answer(refuse))
		f.answer(allow)
	})
	f.when(unix.BPF_JEQ, unix.SYS_SOCKET, func(f *filter) {
		f.load(dataArg0)
		for _, family := range families {
			f.when(unix.BPF_JEQ, family, allowed(family))
		}
		f.answer(refuse)
	})
	f.answer(allow)
	return *f
}

// sockets returns the families of sockets that a program may use. Others are
// refused, because they bypass a network namespace (vsock), or are rarely used
// and often have faults (packet, alg, tipc, can).
//
// Local sockets reach the machine's daemons: by paths without a root of its own,
// and by abstract names with the machine's network.
func sockets(network, namespaces, scope bool) []uint32 {
	var families []uint32
	if network || namespaces {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	if namespaces {
		families = append(families, unix.AF_NETLINK)
	}
	if namespaces && (!network || scope) {
		families = append(families, unix.AF_UNIX)
	}
	return families
}

// allowed allows sockets of a family. Of netlink it allows only the protocol for addresses and routes, which C libraries use:
// others list the connections of the machine (sock_diag) or its firewall.
func allowed(family uint32) func(*filter) {
	if family != unix.AF_NETLINK {
		return answer(allow)
	}
	return func(f *filter) {
		f.load(dataArg2)
		f.when(unix.BPF_JEQ, unix.NETLINK_ROUTE, answer(allow))
		f.answer(refuse)
	}
}

// New returns the filter for a program with or without the machine's network, namespaces, and a scope of Landlock.
func New(network, namespaces, scope bool) *unix.SockFprog {
	besides := sharedCalls
	if namespaces {
		besides = nil
	}
	f := assemble(sockets(network, namespaces, scope), besides)
	return &unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
}
