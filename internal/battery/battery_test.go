package battery

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/internal/portion"
)

const root = "../.."

var update = flag.Bool("update", false, "write the tables of docs/proof.md")

func all(t *testing.T) []Fault {
	t.Helper()
	faults, err := Read("faults")
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// A fault that does not fit the code any more proves nothing.
func TestFaultsFitTheCodeAndNameAPromise(t *testing.T) {
	t.Parallel()
	var promises strings.Builder
	for _, page := range []string{"../../docs/guarantees.md", "../../docs/how-it-works.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		promises.Write(text)
	}
	for _, f := range all(t) {
		if _, err := f.Plant(root); err != nil {
			t.Error(err)
		}
		if !strings.Contains(promises.String(), f.Promise) {
			t.Errorf("fault %s: no page promises %q", f.Name, f.Promise)
		}
	}
}

// Some of the faults, so that the way of planting them works; "make battery" plants all.
func TestBattery(t *testing.T) {
	var some []Fault
	for i, f := range all(t) {
		if i%16 == 0 {
			some = append(some, f)
		}
	}
	for _, f := range portion.Of(t, some) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			findings, err := Run(t.Context(), root, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range findings {
				t.Logf("%s: %v after %v", one.Test, one.Found, one.Took)
				if !one.Found {
					t.Errorf("%s does not find it:\n%s", one.Test, one.Output)
				}
			}
		})
	}
}

func TestBadFaultsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"promise: p\n":   "-- old --",
		"-- old --\na\n": "-- new --",
		"promise: p\nfile: f\ntest: alone\n-- old --\na\n-- new --\nb\n":          "must be a package",
		"promise: p\nfile: f\ntest: ./p T\nwhy: so\n-- old --\na\n-- new --\nb\n": "is not promise, mended, file or test",
		"promise: p\nfile: f\n-- old --\na\n-- new --\nb\n":                       "are needed",
		"promise: p\nfile: f\ntest: ./p T\n-- old --\na\n-- new --\na\n":          "are needed",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := (Fault{Name: "f", File: "go.mod", Old: "nowhere"}).Plant(root); err == nil || !strings.Contains(err.Error(), "0 times") {
		t.Error(err)
	}
}

// The page has a row for each fault, and one for each defect that a fault brings back.
func TestFaultsStandInTheirTables(t *testing.T) {
	t.Parallel()
	var faults, mended strings.Builder
	for _, f := range all(t) {
		name := strings.ReplaceAll(f.Name, "-", " ")
		tests := make([]string, len(f.Tests))
		for i, one := range f.Tests {
			tests[i] = "`" + strings.ReplaceAll(one.String(), "|", `\|`) + "`"
		}
		fmt.Fprintf(&faults, "| %s | %s | %s |\n", name, f.Promise, strings.Join(tests, " · "))
		if f.Mended != "" {
			fmt.Fprintf(&mended, "| %s | %s |\n", f.Mended, name)
		}
	}
	const page = "../../docs/proof.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for head, rows := range map[string]string{
		"| fault | breaks | tests that find it |\n|---|---|---|\n": faults.String(),
		"| defect | planted as |\n|---|---|\n":                     mended.String(),
	} {
		before, rest, ok := strings.Cut(want, head)
		if !ok {
			t.Fatalf("%s has no table %q", page, head)
		}
		_, after, _ := strings.Cut(rest, "\n\n")
		want = before + head + rows + "\n" + after
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the tables of %s are not those of the faults: go test ./internal/battery -run TestFaultsStand -update", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // a page is for everybody
		t.Fatal(err)
	}
}
