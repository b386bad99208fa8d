//go:build !windows

package blob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-run/belfry/app/blob"
)

func TestOnlyTheOwnerReadsAFolder(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "a", "b"), blob.Options{})
	up := s.put(t, program)
	must(t, filepath.WalkDir(filepath.Dir(s.path), func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v", path, info.Mode(), want)
		}
		return nil
	}))
	if _, err := os.Stat(s.file(up.Digest)); err != nil {
		t.Fatal(err)
	}
}
