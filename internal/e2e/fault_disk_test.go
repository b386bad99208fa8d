//go:build linux

package e2e

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of its own for a database. Where nobody may
// mount, it says why not.
func smallDisk(t testing.TB, size string) (dir, why string) {
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

// sweepDisks takes away what tests have left behind that were killed.
func sweepDisks() {
	left, _ := filepath.Glob("/tmp/" + diskPrefix + "*") // fails only for a malformed pattern
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), diskPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && !alive(n) {
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

// fullDisk fills the disk of the database to the last byte.
type fullDisk struct{}

func drawFullDisk(*chaos, *rand.Rand) fault { return fullDisk{} }

func ballast(c *chaos) string { return filepath.Join(c.disk, "ballast") }

func (fullDisk) Begin(c *chaos) {
	f, err := os.Create(ballast(c))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // whatever it holds is thrown away
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			c.t.Fatal(err)
		}
	}
}

func (fullDisk) Heal(c *chaos) {
	if err := os.Remove(ballast(c)); err != nil {
		c.t.Fatal(err)
	}
}

func (fullDisk) String() string { return "the disk of the database full" }

// ownerOf says whose a file is.
func ownerOf(t testing.TB, path string) (uid, gid int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("whose %s is cannot be told", path)
	}
	return int(is.Uid), int(is.Gid)
}
