// Package memory lets the tests of a package keep their temporary files in memory. A commit to a database in a file waits
// for the disk otherwise, which takes longer than the rest of most tests.
package memory

import (
	"os"
	"syscall"
)

const (
	folder = "/dev/shm"
	enough = 2 << 30 // a container without --shm-size has 64 MB
	noExec = 0x8     // ST_NOEXEC of statvfs(3)
)

// Use makes [testing.T.TempDir] give folders in memory, unless TMPDIR is set, memory has no room, or no program may run there.
// It is for TestMain. Not for tests of sandboxes: a program in one does not see the folder.
func Use() {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < enough || fs.Flags&noExec != 0 {
		return
	}
	_ = os.Setenv("TMPDIR", folder) // fails only for a malformed name
}
