package shape

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Skips returns a function that reports whether a walk of the project skips a folder. It skips what the go command leaves
// out, such as testdata, and modules that go.work in root does not name, such as those of tools and peers. Without go.work
// it skips every other module.
func Skips(root string) (func(dir string) bool, error) {
	ours, err := workspace(root)
	if err != nil {
		return nil, err
	}
	return func(dir string) bool {
		if ours[filepath.Clean(dir)] {
			return false
		}
		base := filepath.Base(dir)
		if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
			return true
		}
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		return err == nil
	}, nil
}

// workspace returns the folders of the modules in go.work, each a line of its block "use".
func workspace(root string) (map[string]bool, error) {
	ours := map[string]bool{filepath.Clean(root): true}
	text, err := fs.ReadFile(os.DirFS(root), "go.work")
	if os.IsNotExist(err) {
		return ours, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the modules of the project: %w", err)
	}
	_, block, _ := strings.Cut(string(text), "use (")
	block, _, _ = strings.Cut(block, ")")
	for _, folder := range strings.Fields(block) {
		ours[filepath.Join(root, filepath.FromSlash(folder))] = true
	}
	return ours, nil
}
