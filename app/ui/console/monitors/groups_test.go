package monitors

import (
	"strings"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

func TestGroupsByTag(t *testing.T) {
	t.Parallel()
	m := func(name string, status monitor.Status, tags ...string) view.MonitorView {
		return view.MonitorView{Monitor: monitor.Monitor{Name: name, Tags: tags}, Status: status}
	}
	groups := groupsOf([]view.MonitorView{m("z", monitor.StatusDown, "web", "a"), m("a", monitor.StatusUp), m("b", monitor.StatusUp, "api"), m("c", monitor.StatusUp, "web")})
	var got []string
	for _, g := range groups {
		var names []string
		for _, v := range g.Items {
			names = append(names, v.Name)
		}
		got = append(got, g.Tag+": "+strings.Join(names, " "))
	}
	if all := strings.Join(got, "; "); all != "web: z c; api: b; : a" {
		t.Error(all)
	}
	if groups[0].Down != 1 || groups[0].All != 2 {
		t.Errorf("%+v", groups[0])
	}
}

// The line stays within its drawing and is one short path, whatever was measured.
func TestTheLineOfLatencies(t *testing.T) {
	t.Parallel()
	ms := core.Duration(time.Millisecond)
	if s := latencyLine([]core.Duration{10 * ms, 20 * ms, 0, 20 * ms}); s.Path != "M0 10l1 -9M3 1h.5" || !strings.Contains(s.Said, "at most 20.0 ms") {
		t.Errorf("%q, %q", s.Path, s.Said)
	}
	for _, none := range [][]core.Duration{nil, {0, 0}, {5 * ms}} {
		if s := latencyLine(none); s.Path != "" {
			t.Errorf("%v: %q", none, s.Path)
		}
	}
	long := make([]core.Duration, 90)
	for i := range long {
		long[i] = core.Duration(1 << 62)
	}
	if s := latencyLine(long); len(s.Path) > 500 || strings.Contains(s.Path, "-") || s.Width != 89 {
		t.Errorf("%d bytes: %s", len(s.Path), s.Path)
	}
}
