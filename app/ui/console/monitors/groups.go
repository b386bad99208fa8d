package monitors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// monitorGroup is the monitors of a page that have a tag.
type monitorGroup struct {
	Tag    string // empty: they have none, or the list is not in groups
	Link   string // folds or unfolds it; empty: the list is not in groups
	Folded bool
	Down   int
	All    int
	Items  []view.MonitorView // none where it is folded
}

// MonitorGroups are the monitors of the page by their first tag, those with one
// that is down first and those without a tag last. Without ?group=tag they are one.
func (p *page) MonitorGroups(d monitorsData) []monitorGroup {
	if !d.Grouped {
		return []monitorGroup{{Items: d.Monitors.Items}}
	}
	groups := groupsOf(d.Monitors.Items)
	folded := strings.FieldsFunc(p.Query("fold"), func(r rune) bool { return r == ',' })
	for i := range groups {
		g := &groups[i]
		key := cmp.Or(g.Tag, untagged)
		g.Folded = slices.Contains(folded, key)
		next := slices.DeleteFunc(slices.Clone(folded), func(name string) bool { return name == key })
		if g.Folded {
			g.Items = nil
		} else {
			next = append(next, key)
		}
		g.Link = p.Here("fold", strings.Join(next, ","))
	}
	return groups
}

// untagged stands for the monitors without a tag in an address. It is no tag.
const untagged = "-"

func groupsOf(all []view.MonitorView) (groups []monitorGroup) {
	at := map[string]int{}
	for _, v := range all {
		tag := ""
		if len(v.Tags) > 0 {
			tag = v.Tags[0]
		}
		i, known := at[tag]
		if !known {
			i = len(groups)
			at[tag], groups = i, append(groups, monitorGroup{Tag: tag})
		}
		g := &groups[i]
		g.All++
		g.Items = append(g.Items, v)
		if v.Status == monitor.StatusDown {
			g.Down++
		}
	}
	slices.SortStableFunc(groups, func(a, b monitorGroup) int {
		return cmp.Or(worse(a.Down > 0, b.Down > 0), worse(a.Tag != "", b.Tag != ""), strings.Compare(a.Tag, b.Tag))
	})
	return groups
}

// worse orders true before false.
func worse(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

const latencyHigh = 20 // units of a drawing that has one for each step to the right

// latencyLine draws latencies as a line, from none to the largest. A zero
// leaves a gap, and fewer than two are nothing to see.
func latencyLine(all []core.Duration) parts.Spark {
	s := parts.Spark{Tone: "busy line", Width: max(len(all)-1, 1), Height: latencyHigh}
	most, last := slices.Max(append([]core.Duration{0}, all...)), core.Duration(0)
	if most == 0 || len(all) < 2 {
		return s
	}
	var path strings.Builder
	from := -1 // height of the point before; less: there is none
	for i, l := range all {
		if l <= 0 {
			from = -1
			continue
		}
		y := latencyHigh - 1 - int((latencyHigh-2)*float64(l)/float64(most))
		switch alone := i+1 == len(all) || all[i+1] <= 0; {
		case from >= 0:
			fmt.Fprintf(&path, "l1 %d", y-from) // from where it is, which is shorter and packs better
		case alone:
			fmt.Fprintf(&path, "M%d %dh.5", i, y) // one alone is seen too
		default:
			fmt.Fprintf(&path, "M%d %d", i, y)
		}
		from, last = y, l
	}
	s.Path = path.String()
	s.Said = "Latency: last " + core.SpanText(last) + ", at most " + core.SpanText(most)
	return s
}
