package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// Every command waits for the initialisation of all packages. Templates, tables and patterns are therefore made at first
// use. What remains is 4.2 MB in 37,000 allocations, most of it by libraries.
func TestTheProgramInitialisesLittle(t *testing.T) {
	cmd := exec.Command(filepath.Join(binDir, "belfry"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var bytes, allocations int
	lines := regexp.MustCompile(`(?m)^init \S+ @.* (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(string(out), -1)
	for _, line := range lines {
		n, err := strconv.Atoi(line[1])
		if err != nil {
			t.Fatal(err)
		}
		bytes += n
		if n, err = strconv.Atoi(line[2]); err != nil {
			t.Fatal(err)
		}
		allocations += n
	}
	t.Logf("%d packages: %d bytes, %d allocations", len(lines), bytes, allocations)
	if len(lines) < 20 || bytes > 6_000_000 || allocations > 45_000 {
		t.Errorf("initialisation of %d packages: got %d bytes and %d allocations, want at most 6,000,000 and 45,000", len(lines), bytes, allocations)
	}
}
