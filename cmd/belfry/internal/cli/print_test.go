package cli

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

func TestATextOfManyLinesIsOneRow(t *testing.T) {
	t.Parallel()
	g := &Grid{head: []string{"NAME", "STATE"}, Paint: func(_ lipgloss.Style, s string) string { return s }}
	g.Row("a\nb\r\nc\rd", "failed")
	var out strings.Builder
	g.Write(&out)
	if want := "NAME     STATE\na b c d  failed\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Rows that come later stand below the same columns as the table, however long its cells are.
func TestLaterRowsLineUpWithTheTable(t *testing.T) {
	t.Parallel()
	g := &Grid{head: []string{"ID", "DURATION", "NOTE"}, Least: []int{4, 6, 0}, Paint: func(_ lipgloss.Style, s string) string { return s }}
	g.Row("1", "23 h 59 min", "slow")
	var out strings.Builder
	g.Write(&out)
	for _, row := range [][]string{{"2", "1 s", "a\nb"}, {"3", "100 d 23 h 59 min", "longest"}, {"4", "2 s", "last"}} {
		g.WriteNext(&out, row)
	}
	want := "ID    DURATION     NOTE\n1     23 h 59 min  slow\n2     1 s          a b\n3     100 d 23 h 59 min  longest\n4     2 s                last\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
