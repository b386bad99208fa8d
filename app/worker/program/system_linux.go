package program

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
)

// selfPath returns a path that starts this program, also after its file was replaced.
func selfPath(string) string { return "/proc/self/exe" }

func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// hardenChild drops rights that the child does not need.
func hardenChild() {
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// limitFile limits the size of all files that the child writes.
func limitFile(size int64) {
	limit := unix.Rlimit{Cur: uint64(size) + 4096, Max: uint64(size) + 4096} // more than size, because the answer may go to a file
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
}

// probeBound tries whether folders can be limited in size.
func probeBound(dir string) bool {
	probe := &folder{dir: filepath.Join(dir, "probe")}
	if os.MkdirAll(probe.output(), 0o700) != nil {
		return false
	}
	bound := scratch.Bound(probe.output(), 4096, 8) == nil
	return clearFolder(probe.dir) == nil && bound
}
