// Package battery proves the tests: it plants a fault in the code and runs the tests that must find it. A fault that no
// test finds is a gap in the tests.
//
// Each file of the folder faults is a fault: what it breaks, where, and who finds it. It is planted with an overlay of
// the go command, so the tree stays as it is.
package battery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Fault is a fault that can be planted.
type Fault struct {
	// Name is that of its file.
	Name string
	// Promise is what it breaks, in the words of docs/guarantees.md or of a rule of docs/how-it-works.md.
	Promise string
	// Mended is a defect that Belfry had, if the fault brings it back.
	Mended string
	// File is the file that it changes, from the root of the project.
	File string
	// Old is the text that it replaces by New. File has it once.
	Old, New string
	// Tests are those that must find it. Each of them does.
	Tests []Test
}

// Test is a test of one package, or a case of it.
type Test struct{ Package, Run string }

func (t Test) String() string { return t.Package + " " + t.Run }

// Read reads all faults of a folder, sorted by name.
func Read(folder string) ([]Fault, error) {
	names, err := fs.Glob(os.DirFS(folder), "*.txt")
	if err != nil {
		return nil, err
	}
	var all []Fault
	for _, name := range names { // they are sorted
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		f, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.Name = strings.TrimSuffix(name, ".txt")
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no faults", folder)
	}
	return all, nil
}

// parse reads lines "key: value", then the text that is there and the one that is planted:
//
//	promise: An attempt is recorded once, and a job ends once.
//	mended: a defect that this brings back, if it does
//	file: store/jobs/settle.go
//	test: ./store/sqlite TestConformance/a_finish_that_comes_twice
//	-- old --
//	-- new --
//
// The last line break of a text is not part of it.
func parse(text string) (f Fault, err error) {
	head, rest, ok := strings.Cut(text, "-- old --\n")
	if !ok {
		return f, errors.New(`no line "-- old --"`)
	}
	f.Old, f.New, ok = strings.Cut(rest, "-- new --\n")
	if !ok {
		return f, errors.New(`no line "-- new --"`)
	}
	f.Old, f.New = strings.TrimSuffix(f.Old, "\n"), strings.TrimSuffix(f.New, "\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "promise":
			f.Promise = value
		case "mended":
			f.Mended = value
		case "file":
			f.File = value
		case "test":
			pkg, run, ok := strings.Cut(value, " ")
			if !ok {
				return f, fmt.Errorf("test %q must be a package, a space and a test", value)
			}
			f.Tests = append(f.Tests, Test{pkg, run})
		default:
			return f, fmt.Errorf("%q is not promise, mended, file or test", line)
		}
	}
	if f.Promise == "" || f.File == "" || len(f.Tests) == 0 || f.Old == "" || f.Old == f.New {
		return f, errors.New("promise, file, test, and two texts that differ are needed")
	}
	return f, nil
}

// Plant returns the text of the fault's file with the fault in it.
func (f Fault) Plant(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.File)))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), f.Old); n != 1 {
		return "", fmt.Errorf("fault %s: %s has its old text %d times, must be once: adapt the fault to the code", f.Name, f.File, n)
	}
	return strings.Replace(string(text), f.Old, f.New, 1), nil
}
