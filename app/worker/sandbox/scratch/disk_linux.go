package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bound puts a file system of limited size on a folder, for at most so many
// files and folders in it. It takes root, and ends with [Unbound].
func Bound(dir string, size int64, entries int) error {
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", max(size, 4096), entries)
	return unix.Mount("belfry-bound", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// Unbound is no error where there is nothing mounted.
func Unbound(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// Entries is how many files there may be in so many bytes of /tmp: one takes
// at least a page, and empty ones are limited like this.
func Entries(size int64) int { return int(max(size/4096, 1024)) }

// lookEvery is how often a folder is looked at that the kernel does not bound.
// In between a program may write over its limit.
const lookEvery = 200 * time.Millisecond

// Watch returns when done is closed, or true as soon as there is more in a
// folder than there may be. It is for where Bound does not work, and weaker: it
// sees no file that is open and has no name any more.
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

// isOver looks no further than the limits. It follows no link, also none that
// is put in the way while it looks.
func isOver(dir string, size int64, entries int) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	entries++ // the folder itself
	err = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone again
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
