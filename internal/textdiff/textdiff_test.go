package textdiff_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfry-run/belfry/internal/textdiff"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGoldenDiffs(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/*.before")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, input := range inputs {
		base := strings.TrimSuffix(input, ".before")
		t.Run(filepath.Base(base), func(t *testing.T) {
			t.Parallel()
			r := textdiff.Diff(read(t, input), read(t, base+".after"), textdiff.Options{})
			text, err := json.MarshalIndent(r, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, base+".json", string(text)+"\n")
			golden(t, base+".diff", r.Unified(10))
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s: %v\ngot:\n%s\nwant:\n%s", path, err, got, want)
	}
}

// apply makes the new text from the old text and the hunks, and fails if they do not
// fit.
func apply(before string, r textdiff.Result) (string, error) {
	var lines, out []string
	if before != "" {
		lines = strings.Split(before, "\n")
	}
	at := 0
	for _, h := range r.Hunks {
		if h.Before-1 < at || h.Before-1 > len(lines) {
			return "", fmt.Errorf("a hunk begins at line %d, after line %d", h.Before, at)
		}
		out = append(out, lines[at:h.Before-1]...)
		at = h.Before - 1
		if h.After-1 != len(out) {
			return "", fmt.Errorf("a hunk says that it ends up at line %d, and does at %d", h.After, len(out)+1)
		}
		for _, l := range h.Lines {
			if l.Op != textdiff.Added {
				if at >= len(lines) || lines[at] != l.Text {
					return "", fmt.Errorf("line %d is not %q", at+1, l.Text)
				}
				at++
			}
			if l.Op != textdiff.Removed {
				out = append(out, l.Text)
			}
		}
	}
	return strings.Join(append(out, lines[at:]...), "\n"), nil
}

func check(before, after string, r textdiff.Result) error {
	if !r.Truncated {
		got, err := apply(before, r)
		if err != nil {
			return err
		}
		if got != after {
			return fmt.Errorf("got %q, want %q", got, after)
		}
	}
	for _, h := range r.Hunks {
		for _, l := range h.Lines {
			var text strings.Builder
			for _, p := range l.Parts {
				text.WriteString(p.Text)
			}
			if len(l.Parts) > 0 && text.String() != l.Text {
				return fmt.Errorf("parts %q are not the line %q", text.String(), l.Text)
			}
		}
	}
	return nil
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc", "a\nx\nc", 3)
	f.Add("", "a", 0)
	f.Add("a\n", "a", 1)
	f.Add("\n\n\n", "\n\n", -1)
	f.Add("price 10 €\nstock 4", "price 12 €\nstock 4\nnew", 1)
	f.Fuzz(func(t *testing.T, before, after string, around int) {
		r := textdiff.Diff(before, after, textdiff.Options{Context: around % 10})
		if err := check(before, after, r); err != nil {
			t.Fatal(err)
		}
		_ = r.Unified(3)
	})
}

func TestHunksLeadFromOneTextToTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "", "a b c", "a b d", "price 10", "price 12"})
		before := strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "before"), "\n")
		after := strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "after"), "\n")
		r := textdiff.Diff(before, after, textdiff.Options{Context: rapid.IntRange(-1, 5).Draw(t, "context")})
		if r.Truncated {
			t.Fatal("diff of small texts: got a truncated result")
		}
		if err := check(before, after, r); err != nil {
			t.Fatal(err)
		}
		if (before == after) != (len(r.Hunks) == 0) {
			t.Fatal("hunks and texts disagree: only one of them has a change")
		}
	})
}

func TestAnEqualTextHasNoHunks(t *testing.T) {
	t.Parallel()
	if r := textdiff.Diff("a\nb", "a\nb", textdiff.Options{}); len(r.Hunks) != 0 || r.Added+r.Removed != 0 || r.Unified(10) != "" {
		t.Errorf("diff of equal texts: got %+v, want no change", r)
	}
}

func TestManyScatteredChangesAreFoundOneByOne(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 5000 {
		a = append(a, fmt.Sprintf("line %d", i))
		b = append(b, a[i])
		if i%10 == 5 {
			b[i] += " changed"
		}
	}
	r := textdiff.Diff(strings.Join(a, "\n"), strings.Join(b, "\n"), textdiff.Options{MaxHunks: 1000})
	if r.Added != 500 || r.Removed != 500 || len(r.Hunks) != 500 || r.Truncated {
		t.Errorf("diff: got %d added, %d removed, %d hunks, truncated %v", r.Added, r.Removed, len(r.Hunks), r.Truncated)
	}
}

func TestDiffOfLargeTextsIsCounted(t *testing.T) {
	t.Parallel()
	r := textdiff.Diff("same\n"+strings.Repeat("a\n", 1000), "same\n"+strings.Repeat("a\n", 900)+"b", textdiff.Options{MaxInput: 1000})
	if !r.Truncated || len(r.Hunks) != 0 || r.Removed != 101 || r.Added != 1 {
		t.Errorf("diff of texts over MaxInput: got %+v, want counts alone", r)
	}
	if got := r.Unified(10); got != "… 1 lines added, 101 removed\n" {
		t.Errorf("unified form without hunks: got %q, want only the counts", got)
	}
}

func TestHunksAreBoundedAndCountsHoldForTheWhole(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 1000 {
		a = append(a, fmt.Sprintf("a%d", i), "1", "2", "3", "4", "5", "6", "7", "8")
		b = append(b, fmt.Sprintf("b%d", i), "1", "2", "3", "4", "5", "6", "7", "8")
	}
	for _, o := range []textdiff.Options{{MaxHunks: 5}, {MaxBytes: 100, MaxHunks: 2000}} {
		r := textdiff.Diff(strings.Join(a, "\n"), strings.Join(b, "\n"), o)
		if !r.Truncated || len(r.Hunks) > 5 || r.Added < 1000 || r.Removed < 1000 {
			t.Errorf("diff: got %d hunks, truncated %v, %d added, %d removed", len(r.Hunks), r.Truncated, r.Added, r.Removed)
		}
	}
}

func TestALongLineIsShownAroundItsChange(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("lorem ipsum dolor ", 50_000)
	r := textdiff.Diff(words+"price 10 "+words, words+"price 12 "+words, textdiff.Options{})
	if !r.Truncated || len(r.Hunks) != 1 || len(r.Hunks[0].Lines) != 2 {
		t.Fatalf("diff: got %d hunks, truncated %v", len(r.Hunks), r.Truncated)
	}
	l := r.Hunks[0].Lines[1]
	if len(l.Text) > 4<<10 || !strings.Contains(l.Text, "price 12") {
		t.Errorf("shortened line: got %d bytes: %q", len(l.Text), l.Text)
	}
	if err := check("", "", textdiff.Result{Hunks: r.Hunks, Truncated: true}); err != nil {
		t.Error(err)
	}
}

// Texts of a megabyte that share only a few lines in another order are the worst case
// of a search for the shortest edit. The work must be bounded by steps: otherwise
// the test hangs.
func TestTextsWithoutAnythingInCommonAreBounded(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	make1 := func() string {
		var b strings.Builder
		for b.Len() < 1<<20 {
			fmt.Fprintf(&b, "%d\n", rng.IntN(5))
		}
		return b.String()
	}
	before, after := make1(), make1()
	r := textdiff.Diff(before, after, textdiff.Options{})
	if !r.Truncated || r.Added == 0 {
		t.Errorf("diff: got truncated %v, %d added", r.Truncated, r.Added)
	}
}

func BenchmarkDiff(b *testing.B) {
	var x, y []string
	for i := range 20_000 {
		x = append(x, fmt.Sprintf("line %d of some page with a price of %d", i, i*7))
		y = append(y, x[i])
		if i%100 == 5 {
			y[i] += " more"
		}
	}
	before, after := strings.Join(x, "\n"), strings.Join(y, "\n")
	b.ReportAllocs()
	for b.Loop() {
		textdiff.Diff(before, after, textdiff.Options{})
	}
}
