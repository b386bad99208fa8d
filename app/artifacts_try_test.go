package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-run/belfry/app/config"
)

// TestCallersShareATry tries a folder from many callers at once, and later a folder that became a file.
func TestCallersShareATry(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "artifacts")
	a := NewArtifacts(config.Config{Artifacts: "folder:" + root}, nil, nil)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if err := a.Try(t.Context(), "default"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the folder was left: %v", err)
	}
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Try(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("a file in its place: %v", err)
	}
}
