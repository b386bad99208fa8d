//go:build amd64 || arm64

package seccomp

import "golang.org/x/sys/unix"

// deniedCalls are refused with EPERM: no job needs them, and each is a way out of
// the sandbox or a large attack surface of the kernel.
var deniedCalls = []uint32{
	// Namespaces, mounts and roots: another view of the machine.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, // files without their path

	// Other processes: their memory and their descriptors.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,

	// Virtual machines in the kernel, through which most of its faults are exploited.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // also makes system calls that bypass the filter
	unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,

	// Keys: namespaces do not isolate them.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,

	// The kernel itself.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG,

	// The machine: its clock, name, swap, quotas and accounts.
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
}

// sharedCalls create objects that outlive a program and count against no limit:
// shared memory, queues and semaphores of the whole machine. With an IPC
// namespace they belong to the run and end with it.
var sharedCalls = []uint32{unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN}
