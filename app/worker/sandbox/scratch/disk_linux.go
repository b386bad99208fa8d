package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bound mounts a file system of limited size on a folder, with at most so many
// files and folders. It needs root, and ends with [Unbound].
func Bound(dir string, size int64, entries int) error {
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", max(size, 4096), entries)
	return unix.Mount("belfry-bound", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// Unbound unmounts the file system of [Bound]. If there is none, that is no error.
func Unbound(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// Entries returns how many files so many bytes of /tmp may hold: each takes at
// least a page, and the number also limits empty files.
func Entries(size int64) int { return int(max(size/4096, 1024)) }

// lookEvery is the interval of checks of a folder that the kernel does not limit.
// In between, a program may exceed its limit.
const lookEvery = 200 * time.Millisecond

// Watch returns false when done is closed, or true as soon as a folder exceeds a
// limit. It is a weaker replacement where Bound does not work: it does not see
// open files that were deleted.
func Watch(done <-chan struct{}, dir string, size int64, entries int) (over bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
			if isOver(dir, size, entries) {
				return true
			}
		}
	}
}

var errOver = errors.New("over")

// isOver reports whether a folder exceeds a limit, and stops at the limit. It
// follows no link, also none that is created meanwhile.
func isOver(dir string, size int64, entries int) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	entries++ // the folder itself
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was deleted meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size -= info.Size()
		}
		if entries--; size < 0 || entries < 0 {
			return errOver
		}
		return nil
	})
	return errors.Is(err, errOver)
}
