package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath starts this very program, also after another was put in its place.
func selfPath(string) string { return "/proc/self/exe" }

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// hardenChild takes from the child what it has no use for.
func hardenChild() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// limitFile keeps any file of the child from growing over a size.
func limitFile(size int64) {
	limit := unix.Rlimit{Cur: uint64(size) + 4096, Max: uint64(size) + 4096} // its answer may go to a file
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
}

// quota puts a file system of limited size on a folder, which ends with
// unquota. Only root can.
func quota(dir string, size int64, entries int) error {
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", max(size, 4096), entries)
	return unix.Mount("belfry-output", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options)
}

// unquota is no error where there is nothing mounted.
func unquota(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// probeQuota finds out whether quota works by doing it.
func probeQuota(dir string) bool {
	probe := filepath.Join(dir, "probe")
	if os.Mkdir(probe, 0o700) != nil {
		return false
	}
	defer func() { _ = os.Remove(probe) }()
	return quota(probe, 4096, 8) == nil && unquota(probe) == nil
}
