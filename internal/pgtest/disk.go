//go:build linux || darwin

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// SmallDisk mounts a separate file system for a database, of a size such as "64m". If mounts are not permitted, it returns
// the reason.
func SmallDisk(t testing.TB, size string) (dir, why string) {
	t.Helper()
	sweepDisks()
	// A place that PostgreSQL's user can enter.
	dir, err := os.MkdirTemp("/tmp", diskPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if out, err := asRoot("mount", "-t", "tmpfs", "-o", "mode=0777,size="+size, "tmpfs", dir); err != nil {
		return "", "a small disk cannot be mounted, neither as root nor by sudo -n: " + strings.TrimSpace(string(out)+" "+err.Error())
	}
	t.Cleanup(func() {
		if out, err := asRoot("umount", dir); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir, ""
}

const diskPrefix = "belfry-small-"

// sweepDisks removes the disks that killed tests have left behind.
func sweepDisks() {
	left, _ := filepath.Glob("/tmp/" + diskPrefix + "*") // fails only for a malformed pattern
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), diskPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			_, _ = asRoot("umount", dir)
			_ = os.Remove(dir)
		}
	}
}

func asRoot(argv ...string) ([]byte, error) {
	if os.Geteuid() != 0 {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	return exec.Command(argv[0], argv[1:]...).CombinedOutput()
}

// FillDisk appends to a file until its disk is full to the last byte.
func FillDisk(t testing.TB, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the content does not matter
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
