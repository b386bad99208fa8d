package battery

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A part of "make proof" that runs no test fails, but only those who wait for it see that.
func TestProofNamesTestsThatAreThere(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../tools/proof.sh")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`\$\(tests (?:-run '?([^' ]+)'? )?([^)]+)\)`).FindAllStringSubmatch(string(script), -1)
	if len(parts) != strings.Count(string(script), "$(tests ") {
		t.Fatalf("%d parts were read", len(parts))
	}
	for _, part := range parts {
		var declared strings.Builder
		for folder := range strings.FieldsSeq(part[2]) {
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no tests: %v", folder, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				declared.Write(text)
			}
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(part[1], "$", "("), "|") {
			if !strings.Contains(declared.String(), "\nfunc "+name) {
				t.Errorf("no test of %s begins with %q", part[2], name)
			}
		}
	}
}
