package child

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/internal/isolation"
)

// Rule is a Landlock rule: a path and the allowed operations below it. Paths
// without a rule cannot be opened.
type Rule struct {
	Path   string
	Access uint64
}

const (
	accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	AccessRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	AccessList  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	AccessWrite = AccessRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	AccessDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	accessAll    = AccessWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// handled returns the operations on files that a version of Landlock can forbid.
func handled(abi int) uint64 {
	access := uint64(accessAll)
	if abi < 5 {
		access &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi < 3 {
		access &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 2 {
		access &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	return access
}

// LandlockABI returns the version of the running kernel's Landlock.
func LandlockABI() (int, error) {
	abi, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0, e
	}
	return int(abi), nil
}

// newRuleset creates the ruleset that is later applied to the thread. scope also
// forbids signals and abstract sockets to the outside, noTCP all of TCP. seccomp
// forbids TCP too; Landlock protects if one of the two fails.
func newRuleset(rules []Rule, scope, noTCP bool) (fd, abi int, err error) {
	if abi, err = LandlockABI(); err != nil {
		return -1, 0, &isolation.Fault{Step: "landlock", Err: err}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if noTCP && abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if scope && abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	made, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), rulesetSize(abi), 0)
	if e != 0 {
		return -1, abi, &isolation.Fault{Step: "landlock", Err: e}
	}
	for _, r := range rules {
		if err := addRule(int(made), attr.Handled_access_fs, r); err != nil {
			return -1, abi, &isolation.Fault{Step: "landlock", Text: r.Path, Err: err}
		}
	}
	return int(made), abi, nil
}

// rulesetSize returns the size of the attributes that a kernel knows.
func rulesetSize(abi int) uintptr {
	var attr unix.LandlockRulesetAttr
	switch {
	case abi < 4:
		return unsafe.Offsetof(attr.Handled_access_net)
	case abi < 6:
		return unsafe.Offsetof(attr.Scoped)
	}
	return unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
}

func addRule(ruleset int, known uint64, r Rule) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: r.Access & known, Parent_fd: int32(fd)}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		beneath.Allowed_access &= accessFile
	}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
