//go:build unix

package programs

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-run/belfry/cmd/belfry/internal/cli"
)

// A named pipe is refused, and not waited for.
func TestPipesAreNoPrograms(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := executableOf(cli.New(nil, io.Discard, io.Discard, nil), path); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
}
