package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program is type-checked from source for the platforms without tests, since building for all takes ten minutes. Only
// Linux has code for particular processors.
func TestReleaseOfOtherPlatformsTypeChecks(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
		if err := typeCheck(platform); err != nil {
			t.Errorf("%s: %v", platform, err)
		}
	}
}

// sources is a package in the output of "go list" for a platform.
type sources struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
}

func typeCheck(platform string) error {
	system, processor, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./cmd/belfry")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	known := importer{"unsafe": types.Unsafe}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var s sources
		if err := dec.Decode(&s); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if s.ImportPath == "unsafe" {
			continue
		}
		if known[s.ImportPath], err = s.check(known, processor); err != nil {
			return fmt.Errorf("%s: %w", s.ImportPath, err)
		}
	}
}

// importer has the checked packages. "go list" names the imports of a package before the package.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not known", path)
}

// mapped is an importer for a package whose imports have other names, such as the vendored ones of the standard library.
type mapped struct {
	importer
	names map[string]string
}

func (m mapped) Import(path string) (*types.Package, error) {
	if name := m.names[path]; name != "" {
		path = name
	}
	return m.importer.Import(path)
}

// check type-checks a package. It checks the bodies of functions only in our own packages.
func (s sources) check(known importer, processor string) (*types.Package, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range s.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	own := s.Module != nil && s.Module.Main
	c := types.Config{Importer: mapped{known, s.ImportMap}, IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", processor)}
	if !own {
		c.Error = func(error) {} // ignores errors in foreign files that the compiler treats specially
	}
	p, err := c.Check(s.ImportPath, fset, files, nil)
	if !own {
		err = nil
	}
	return p, err
}
