//go:build linux

package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
)

// fullDisk fills the disk of the database to the last byte.
type fullDisk struct{}

func drawFullDisk(*chaos, *rand.Rand) fault { return fullDisk{} }

func ballast(c *chaos) string { return filepath.Join(c.disk, "ballast") }

func (fullDisk) Begin(c *chaos) { pgtest.FillDisk(c.t, ballast(c)) }

func (fullDisk) Heal(c *chaos) {
	if err := os.Remove(ballast(c)); err != nil {
		c.t.Fatal(err)
	}
}

func (fullDisk) String() string { return "the disk of the database full" }

// ownerOf returns the owner of a file.
func ownerOf(t testing.TB, path string) (uid, gid int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("the owner of %s is unknown", path)
	}
	return int(is.Uid), int(is.Gid)
}
