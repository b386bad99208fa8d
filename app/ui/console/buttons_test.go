package console_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// buttonsOf are the rows of buttons on a page: what each says, and its classes.
func buttonsOf(t *testing.T, page string) (rows [][][2]string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data != "p" || attr(n, "class") != "actions" {
			continue
		}
		var row [][2]string
		for b := range n.Descendants() {
			if b.Data != "button" && b.Data != "a" {
				continue
			}
			var text strings.Builder
			for in := range b.Descendants() {
				if in.Type == html.TextNode {
					text.WriteString(in.Data)
				}
			}
			row = append(row, [2]string{strings.TrimSpace(text.String()), attr(b, "class")})
		}
		rows = append(rows, row)
	}
	return rows
}

// What a form is for comes first, other ways to send it follow, and the way out is last. What deletes stands in a
// dialog of its own, never beside what saves. Every page that is a form has a way out.
func TestButtonsOfFormsHaveOneOrder(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	v := s.visitor(s.admin)
	leaves := []string{"Cancel", "Keep it", "Go back", "Stop here", "Close"}
	seen := 0
	for _, tt := range everyPage {
		_, page := v.get(tt.path)
		rows, out := buttonsOf(t, page), false
		for _, row := range rows {
			if len(row) > 0 && row[0][0] == "Discard mine, take theirs" {
				continue // neither of the two is what the form is for
			}
			for i, b := range row {
				classes := strings.Fields(b[1])
				danger, leave := slices.Contains(classes, "danger"), slices.Contains(leaves, b[0]) && !slices.Contains(classes, "danger")
				out = out || leave
				if i > 0 && (slices.Contains(classes, "main") || danger) || leave && i < len(row)-1 || leave && i == 0 && len(row) > 1 {
					t.Errorf("%s: %q is button %d of %q", tt.path, b[0], i+1, row)
				}
				seen++
			}
		}
		path, _, _ := strings.Cut(tt.path, "?")
		if tt.status == 0 && (strings.Contains(path, "/-") || strings.HasSuffix(path, "/edit") || strings.HasSuffix(path, "/signal") || strings.HasSuffix(path, "/trigger") || strings.HasSuffix(path, "/backfill")) && len(rows) > 0 && !out {
			t.Errorf("%s: no way out in %q", tt.path, rows)
		}
	}
	if seen < 100 {
		t.Errorf("only %d buttons were seen", seen)
	}
}

// What is seen has the order that the Tab key follows: no style turns a row around.
func TestButtonsStandInTheOrderOfTheTabKey(t *testing.T) {
	t.Parallel()
	for _, file := range must(filepath.Glob("assets/*.css"))(&site{T: t}) {
		if strings.Contains(string(must(os.ReadFile(file))(&site{T: t})), "-reverse") {
			t.Errorf("%s turns a row around", file)
		}
	}
	s := filledSite(t)
	b := s.at("/schedules/hourly")
	opens(b, "pause")
	var left []float64
	b.Eval(`[...document.querySelectorAll('#pause .actions button')].map(e => e.getBoundingClientRect().left)`, &left)
	if len(left) != 2 || left[0] >= left[1] {
		t.Errorf("Pause and Cancel stand at %v", left)
	}
	picture(b, "schedule-pause-dialog")
}
