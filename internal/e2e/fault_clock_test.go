//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clock is the deciding wall clock: that of PostgreSQL, or that of the one node on
// SQLite.
type clock interface {
	set(t testing.TB, by time.Duration)
}

// step sets the deciding clock. A step forward stays. A step back is undone: rules
// with fixed times do not fire until the clock has passed their last run, which would
// leave little to check for a day.
type step struct {
	by     time.Duration
	before time.Duration
}

func drawClock(_ *chaos, r *rand.Rand) fault {
	by := []time.Duration{time.Minute, time.Hour, 24 * time.Hour}[r.IntN(3)]
	if r.IntN(2) == 0 {
		by = -by
	}
	return &step{by: by}
}

func (f *step) Begin(c *chaos) {
	f.before = c.off
	c.setClock(c.off + f.by)
}

func (f *step) Heal(c *chaos) {
	if f.by < 0 {
		c.setClock(f.before)
	}
}

func (f *step) String() string { return fmt.Sprintf("the clock set by %s", f.by) }

func (c *chaos) setClock(by time.Duration) {
	c.clock.set(c.t, by)
	c.off = by
}

// fakedTime sets the clock of a program that reads it from the C library.
type fakedTime struct{ file string }

// fakeTime gives programs that start with its environment a clock that can be set.
func fakeTime(t testing.TB) (fakedTime, []string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1") // fails only for a malformed pattern
	lib := os.Getenv("BELFRY_FAKETIME")
	if lib == "" && len(found) > 0 {
		lib = found[0]
	}
	if lib == "" {
		t.Fatal("steps of PostgreSQL's clock need libfaketime: make setup installs it, or BELFRY_FAKETIME names libfaketimeMT.so.1")
	}
	dir, err := os.MkdirTemp("/tmp", "belfry-clock-") // a place that PostgreSQL's user can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	f := fakedTime{filepath.Join(dir, "offset")}
	f.set(t, 0)
	return f, []string{
		"LD_PRELOAD=" + lib, "FAKETIME_TIMESTAMP_FILE=" + f.file, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
	}
}

func (f fakedTime) set(t testing.TB, by time.Duration) {
	t.Helper()
	text := fmt.Sprintf("%+d\n", int64(by.Seconds()))
	if err := os.WriteFile(f.file+".new", []byte(text), 0o644); err != nil { //nolint:gosec // PostgreSQL's user reads it
		t.Fatal(err)
	}
	if err := os.Rename(f.file+".new", f.file); err != nil { // so that no program reads a half-written file
		t.Fatal(err)
	}
}
