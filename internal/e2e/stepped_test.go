//go:build linux

package e2e

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Go program reads the time from the kernel, so no library can step its clock. The
// program under test is therefore built once more from the same sources, with one line
// of the standard library changed: time.Now adds the offset in a file. Monotonic
// readings stay true, as they do when an operator sets the clock.

//go:embed testdata/steppedclock.go
var steppedSource string

const (
	nowReads = "	sec, nsec, mono := runtimeNow()\n	if mono == 0 {"
	nowSteps = "	sec, nsec, mono := runtimeNow()\n	sec += step()\n	if mono == 0 {"
)

// stepped has these builds by name.
var stepped sync.Map // of func() (path, failed string)

// steppedBelfry returns the program with a clock that can be set, if wanted as a
// build that packs each claim on SQLite.
func steppedBelfry(t testing.TB, packing bool) string {
	t.Helper()
	name, more := "stepped", map[string]string{}
	if packing {
		file, text := packingText(t, "store/sqlite")
		name, more = "stepped-packing", map[string]string{file: text}
	}
	build, _ := stepped.LoadOrStore(name, sync.OnceValues(func() (path, failed string) { return buildStepped(name, more) }))
	path, failed := build.(func() (path, failed string))() //nolint:forcetypeassert // nothing else is in it
	if failed != "" {
		t.Fatal(failed)
	}
	return path
}

func buildStepped(name string, texts map[string]string) (path, failed string) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", "ask for GOROOT: " + err.Error()
	}
	library := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	text, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err.Error()
	}
	if strings.Count(string(text), nowReads) != 1 {
		return "", "time.Now of " + runtime.Version() + " is not as this test knows it: adapt nowReads"
	}
	texts[filepath.Join(library, "time.go")] = strings.Replace(string(text), nowReads, nowSteps, 1)
	texts[filepath.Join(library, "stepped.go")] = steppedSource
	return buildOverlaid(name, texts)
}

// buildOverlaid builds the program with some files replaced.
func buildOverlaid(name string, texts map[string]string) (path, failed string) {
	dir := filepath.Join(binDir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err.Error()
	}
	replace := map[string]string{}
	for file, text := range texts {
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			return "", err.Error()
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err.Error()
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		return "", err.Error()
	}
	path = filepath.Join(dir, "belfry")
	build := exec.Command("go", "build", "-ldflags=-s", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, "github.com/belfry-run/belfry/cmd/belfry")
	if out, err := build.CombinedOutput(); err != nil {
		return "", "build belfry otherwise (" + name + "): " + err.Error() + "\n" + string(out)
	}
	return path, ""
}

// steppedTime sets the clock of these programs.
type steppedTime struct{ file string }

func stepTime(t testing.TB) (steppedTime, string) {
	t.Helper()
	f := steppedTime{filepath.Join(t.TempDir(), "clock")}
	if err := os.WriteFile(f.file, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	return f, "BELFRY_E2E_CLOCK=" + f.file
}

func (f steppedTime) set(t testing.TB, by time.Duration) {
	t.Helper()
	file, err := os.OpenFile(f.file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // WriteAt says what went wrong
	var text [8]byte
	binary.NativeEndian.PutUint64(text[:], uint64(int64(by.Seconds())))
	if _, err := file.WriteAt(text[:], 0); err != nil {
		t.Fatal(err)
	}
}
