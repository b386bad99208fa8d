package battery

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	storeCase = regexp.MustCompile(`\b(add|addLeaser|addNodes)\("([^"]+)"`)
)

// A test or case of the conformance suite that was renamed finds nothing, and only "make battery" runs all of them.
func TestFaultsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	var cases []string
	for _, m := range matches(t, storeCase, "../../store/storetest/*.go") {
		name := strings.ReplaceAll(m[2], " ", "_")
		if m[1] == "addLeaser" {
			name = "leaser:_" + name
		}
		cases = append(cases, name)
	}
	for _, f := range all(t) {
		for _, one := range f.Tests {
			first, second, nested := strings.Cut(one.Run, "/")
			var names []string
			for _, m := range matches(t, testFunc, filepath.Join(root, one.Package, "*_test.go")) {
				names = append(names, m[1])
			}
			if !matchesAny(t, first, names) {
				t.Errorf("fault %s: %s has no test %s", f.Name, one.Package, first)
			}
			if nested && strings.Contains(first, "TestConformance") && !matchesAny(t, second, cases) {
				t.Errorf("fault %s: no case of the conformance suite is named like %s", f.Name, second)
			}
		}
	}
}

// matches returns the matches of an expression in the files of a pattern.
func matches(t *testing.T, in *regexp.Regexp, pattern string) (found [][]string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v files, %v", pattern, len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, in.FindAllStringSubmatch(string(text), -1)...)
	}
	return found
}

func matchesAny(t *testing.T, pattern string, names []string) bool {
	t.Helper()
	like, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if like.MatchString(name) {
			return true
		}
	}
	return false
}
