package shape

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/belfry-run/belfry"

// Limits for every package and type.
const (
	maxLines   = 3000 // of a package, without its tests
	maxMethods = 40   // of a type
)

// own has the limits of single packages.
var own = map[string]int{
	"names of .":    60,  // only the names that Go programs use most
	"lines of core": 850, // no noun may move in
}

// over lists the packages and types above their limit, with their numbers of today. A number here may only go down: lower
// it after a package or a type has shrunk, and remove the line when it is within its limit.
var over = map[string]int{}

// suite has only tests. Their files are not named _test.go because three packages run them.
const suite = "store/storetest"

// measured returns the numbers with a limit, by their names in [over].
func measured(list []Package) (numbers, limits map[string]int) {
	numbers, limits = map[string]int{}, map[string]int{}
	for _, p := range list {
		if p.Folder != suite {
			numbers["lines of "+p.Folder], limits["lines of "+p.Folder] = p.Lines, maxLines
		}
		for _, t := range p.Types {
			name := "methods of " + p.Folder + "." + t.Name
			numbers[name], limits[name] = t.N, maxMethods
		}
		numbers["names of "+p.Folder] = p.Exported
	}
	maps.Copy(limits, own)
	return numbers, limits
}

// check returns the violations of limits and exceptions.
func check(numbers, limits, over map[string]int) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		n, limit := numbers[name], limits[name]
		allowed, excepted := over[name]
		switch {
		case !excepted && n > limit:
			faults = append(faults, fmt.Sprintf("%s: %d, must be at most %d: split it by noun", name, n, limit))
		case !excepted:
		case n > allowed:
			faults = append(faults, fmt.Sprintf("%s: %d, must not grow above %d: put new code into a package or type of its own", name, n, allowed))
		case n <= limit:
			faults = append(faults, fmt.Sprintf("%s: %d is within its limit of %d: remove it from the table", name, n, limit))
		case 100*n < 98*allowed:
			faults = append(faults, fmt.Sprintf("%s: %d has shrunk: lower the table to %q: %d", name, n, name, n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		if _, ok := limits[name]; !ok {
			faults = append(faults, name+": does not exist: remove it from the table")
		}
	}
	return faults
}

func TestPackagesKeepTheirLimits(t *testing.T) {
	t.Parallel()
	list, err := Read("../..", module)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Errorf("packages: got only %d", len(list))
	}
	numbers, limits := measured(list)
	for _, fault := range check(numbers, limits, over) {
		t.Error(fault)
	}
}

func TestTheTableOnlyGoesDown(t *testing.T) {
	t.Parallel()
	limits := map[string]int{"lines of a": 3000}
	for _, test := range []struct {
		name  string
		n     int
		over  map[string]int
		fault string
	}{
		{"within the limit", 3000, nil, ""},
		{"above the limit", 3001, nil, "must be at most 3000"},
		{"as the table has it", 5000, map[string]int{"lines of a": 5000}, ""},
		{"grown", 5001, map[string]int{"lines of a": 5000}, "must not grow above 5000"},
		{"shrunk by 2 %", 4900, map[string]int{"lines of a": 5000}, ""},
		{"shrunk by more", 4899, map[string]int{"lines of a": 5000}, `lower the table to "lines of a": 4899`},
		{"within the limit again", 2990, map[string]int{"lines of a": 3010}, "remove it"},
		{"unknown name in the table", 1, map[string]int{"lines of b": 5000}, "lines of b: does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			faults := strings.Join(check(map[string]int{"lines of a": test.n}, limits, test.over), "\n")
			if (test.fault == "") != (faults == "") || !strings.Contains(faults, test.fault) {
				t.Errorf("got %q, want %q", faults, test.fault)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n")
	write("a/a.go", `// Package a is a
// test.
package a

import (
	"fmt"

	m "example.com/m"
	"example.com/m/b"
)

type T[K any] struct{} // a comment behind code

const (
	One, two = 1, 2
)

var Three = fmt.Sprint(b.B, m.M)

func (t *T[K]) First()  {}
func (t T[K]) second() {
	/* two lines
	   of a comment */
}

func Long() {

}
`)
	write("a/a_linux.go", "package a\n\nfunc (t *T[K]) First() {}\n")
	write("a/a_test.go", "package a\n\nfunc Tested() {}\n")
	write("a/testdata/x.go", "not Go\n")
	write("b/b.go", "package b\n\nconst B = 1\n")
	write("other/go.mod", "module example.com/other\n")
	write("other/o.go", "package other\n")
	write("m.go", "package m\n\nconst M = 1\n")
	list, err := Read(root, "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", list)
	want := "[{Folder:. Lines:3 Comments:0 Exported:1 Imports:[] Types:[] Function:{Name: N:0}} " +
		"{Folder:a Lines:31 Comments:4 Exported:4 Imports:[. b] Types:[{Name:T N:2}] Function:{Name:T.second N:4}} " +
		"{Folder:b Lines:3 Comments:0 Exported:1 Imports:[] Types:[] Function:{Name: N:0}}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	total := Total(list)
	if total.Lines != 37 || total.Exported != 6 || total.Largest() != (Count{"a.T", 2}) || total.Function != (Count{"a.T.second", 4}) {
		t.Errorf("total: got %+v", total)
	}
}
