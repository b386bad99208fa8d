//go:build linux || darwin

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/belfry-run/belfry/internal/pgtest"
)

// binDir holds the program under test, which is named belfry as for users.
var binDir string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(stepsServer) != "" {
		return stepsWorker()
	}
	flag.Parse()
	// These tests mostly wait. With two at once on two cores they would take three
	// times as long.
	if f := flag.Lookup("test.parallel"); f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set(fmt.Sprint(4 * runtime.GOMAXPROCS(0)))
	}
	dir, err := os.MkdirTemp("", "belfry-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's folder for such things
	binDir = dir
	if err := provide(filepath.Join(dir, "belfry")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go start()
	return pgtest.Main(m)
}

// provide builds the program under test, or links to the one in BELFRY_E2E_BINARY.
func provide(path string) error {
	if built := os.Getenv("BELFRY_E2E_BINARY"); built != "" {
		built, err := filepath.Abs(built)
		if err != nil {
			return err
		}
		return os.Symlink(built, path)
	}
	build := exec.Command("go", "build", "-ldflags=-s", "-o", path, "github.com/belfry-run/belfry/cmd/belfry")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build belfry: %w\n%s", err, out)
	}
	return nil
}
