package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
)

// Monitors stand in groups by tag, the group with one that is down first; the address says which are folded.
func TestMonitorsByTag(t *testing.T) {
	t.Parallel()
	s := filledSite(t)
	for i := range 12 {
		tags := []string{[]string{"web", "billing"}[i%2]}
		if i > 9 {
			tags = nil
		}
		must(s.CreateMonitor(s.Context(), monitor.Monitor{Name: fmt.Sprintf("m-%02d", i), Tags: tags, Check: task.Task{HTTP: &task.HTTP{URL: "http://localhost/"}}}))(s)
	}
	b := s.at("/monitors?group=tag")
	heads := func() string {
		var text string
		b.Eval(`[...document.querySelectorAll('.group a')].map(a => a.textContent.trim()).join(', ')`, &text)
		return text
	}
	for _, look := range []struct {
		scheme string
		width  int
	}{{"light", 390}, {"dark", 1280}} {
		b.Emulate(look.scheme, look.width)
		b.Visit(s.url + "/monitors?group=tag")
		picture(b, fmt.Sprintf("monitors-by-tag-%s-%d", look.scheme, look.width))
		b.Layout()
		b.Axe()
	}
	all := heads()
	if !strings.Contains(all, "▾ billing, ") || !strings.Contains(all, "▾ web") || !strings.Contains(all, "Without a tag") {
		t.Errorf("the groups are %s", all)
	}
	b.Follow("#group-web a")
	if got := heads(); !strings.Contains(got, "▸ web") || !strings.Contains(got, "▾ billing") {
		t.Errorf("folded: %s", got)
	}
	if text := b.Text("#list"); strings.Contains(text, "m-00") || !strings.Contains(text, "m-01") {
		t.Error("a monitor of the folded group is shown, or one of another is not")
	}
	b.Follow("#group-billing a")
	b.Follow("#group-web a")
	if got := heads(); !strings.Contains(got, "▾ web") || !strings.Contains(got, "▸ billing") {
		t.Errorf("unfolded: %s", got)
	}
	b.Visit(s.url + "/monitors?group=tag&view=grid")
	picture(b, "monitors-by-tag-grid")
	b.Layout()
	b.Quiet(s.url)
}
