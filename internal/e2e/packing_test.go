//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	packsMany = "const packFrom = 50"
	packsEach = "const packFrom = 1"
)

// packingBelfry is the program with a pack for each claim, however small, as far
// as leases may be packed at all. Claims of what chaos runs are small, and would
// never make one.
func packingBelfry(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{ .Dir }}", "github.com/belfry-run/belfry/store").Output()
	if err != nil {
		t.Fatal("ask for the store's folder: ", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "packfrom.go")
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), packsMany) != 1 {
		t.Fatal("store/packfrom.go is not as this test knows it, adapt packsMany: ", err)
	}
	path, failed := buildOverlaid("packing", map[string]string{file: strings.Replace(string(text), packsMany, packsEach, 1)})
	if failed != "" {
		t.Fatal(failed)
	}
	return path
}
