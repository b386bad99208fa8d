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
