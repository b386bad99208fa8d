package battery

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// A fault that does not build proves nothing, and only "make battery" builds all of them. Here each is checked as a compiler
// does, beside the packages that its own imports.
func TestFaultsBuild(t *testing.T) {
	t.Parallel()
	byDir, exports := packages(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, f := range all(t) {
		text, err := f.Plant(root)
		if err != nil {
			t.Error(err)
			continue
		}
		at, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(f.File)))
		if err != nil {
			t.Fatal(err)
		}
		p, there := byDir[filepath.Dir(at)]
		if !there || !slices.Contains(p.GoFiles, filepath.Base(at)) {
			t.Errorf("fault %s: no package is built from %s here", f.Name, f.File)
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			var source any
			if name == filepath.Base(at) {
				source = text
			}
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), source, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("fault %s: %v", f.Name, err)
			}
			files = append(files, file)
		}
		var all []error
		check := types.Config{Importer: imports, Error: func(err error) { all = append(all, err) }}
		_, _ = check.Check(p.ImportPath, fset, files, nil)
		if err := errors.Join(all...); err != nil {
			t.Errorf("fault %s does not build: %v", f.Name, err)
		}
	}
}

// packages lists the packages of all modules by folder, and the file of each that others import.
func packages(t *testing.T) (byDir map[string]listed, exports map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...", "./app/...", "./cmd/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	byDir, exports = map[string]listed{}, map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return byDir, exports
		} else if err != nil {
			t.Fatal(err)
		}
		byDir[p.Dir], exports[p.ImportPath] = p, p.Export
	}
}
