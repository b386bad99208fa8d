package page

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/belfry-run/belfry/task"
)

var update = flag.Bool("update", false, "write the golden files anew")

var kinds = map[string]string{".html": "text/html; charset=utf-8", ".json": "application/json", ".txt": "text/plain; charset=utf-8", ".xml": "application/rss+xml"}

// A golden file has settings, a page, and what became of it: the outcome, the
// number of matches, what the rules took out, and the text.
func TestGoldenTexts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/text/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Files) != 3 || a.Files[2].Name != "text" {
				t.Fatal("want the files settings.json, page.*, text")
			}
			var g task.PageCheck
			if err := json.Unmarshal(a.Files[0].Data, &g); err != nil {
				t.Fatal(err)
			}
			got := show(t, g, content{body: a.Files[1].Data, kind: kinds[filepath.Ext(a.Files[1].Name)]})
			if *update {
				a.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(a.Files[2].Data); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func show(t *testing.T, g task.PageCheck, d content) string {
	t.Helper()
	r, faults := compile(g)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	out, err := r.read(t.Context(), d)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %d matches", out.seen.Outcome, out.seen.Matches)
	for _, took := range out.removed {
		fmt.Fprintf(&b, ", %s %d", took.Rule, took.Count)
	}
	return b.String() + "\n" + out.seen.Text + "\n"
}
