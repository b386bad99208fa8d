package program

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/belfry-run/belfry/app/worker/sandbox/scratch"
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

// probeBound finds out whether folders can be bounded by doing it.
func probeBound(dir string) bool {
	probe := &folder{dir: filepath.Join(dir, "probe")}
	if os.MkdirAll(probe.output(), 0o700) != nil {
		return false
	}
	bound := scratch.Bound(probe.output(), 4096, 8) == nil
	return clearFolder(probe.dir) == nil && bound
}
