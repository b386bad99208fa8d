//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// packsMany has, by package, the line with the number of jobs from which a claim is
// packed.
var packsMany = map[string]string{"store/base": "const packFrom = 50", "store/sqlite": "const packFrom = 10"}

// packingText returns the file of a package with this number changed, so that every
// claim whose leases may be packed makes a pack. The claims of the chaos tests are
// small and would hardly make one.
func packingText(t testing.TB, pkg string) (file, text string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{ .Dir }}", "github.com/belfry-run/belfry/"+pkg).Output()
	if err != nil {
		t.Fatalf("ask for the folder of %s: %v", pkg, err)
	}
	file = filepath.Join(strings.TrimSpace(string(dir)), "packfrom.go")
	was, err := os.ReadFile(file)
	if err != nil || strings.Count(string(was), packsMany[pkg]) != 1 {
		t.Fatalf("%s/packfrom.go has changed, adapt packsMany: %v", pkg, err)
	}
	return file, strings.Replace(string(was), packsMany[pkg], "const packFrom = 1", 1)
}

// packingBelfry returns the program that packs each claim on PostgreSQL.
func packingBelfry(t testing.TB) string {
	t.Helper()
	file, text := packingText(t, "store/base")
	path, failed := buildOverlaid("packing", map[string]string{file: text})
	if failed != "" {
		t.Fatal(failed)
	}
	return path
}
