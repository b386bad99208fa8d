//go:build linux || darwin || freebsd

package blob

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeBytes returns the free bytes for this process on the disk of a folder.
func freeBytes(path string) (free int64, known bool) {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true
}

func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }
