package tasks

import (
	"cmp"
	"slices"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/task"
)

// kindTitle returns the title of a kind.
func kindTitle(k task.KindInfo) string {
	return cmp.Or(k.Form, k.Title, parts.SentenceCase(string(k.Kind)))
}

// kindTab leads to the form of a kind.
type kindTab struct {
	Name, Link, Value string // a link, or the value of a button that keeps the typed fields
	Here              bool
}

// kindTabs are the tabs of kinds of tasks, in two groups: those that do work, and those that check a target. A kind without
// inputs is edited on pages of its own, or as a definition.
func (p *page) kindTabs(f *taskForm, checks bool) (tabs []kindTab) {
	for _, k := range task.KindTable {
		isCheck := k.Values != "" && k.Form == ""
		if !slices.Contains(task.TaskKinds, k.Kind) || isCheck != checks {
			continue
		}
		t := kindTab{Name: kindTitle(k), Value: "kind " + string(k.Kind), Here: !f.Whole && k.Kind == f.Kind}
		if own := string(k.Kind) + "s"; k.Form == "" && p.Site.Pages["GET /"+own+"/-new"] {
			t = kindTab{Name: t.Name, Link: p.Link(own, "-new")}
		}
		tabs = append(tabs, t)
	}
	slices.SortStableFunc(tabs, func(a, b kindTab) int { return cmp.Compare(place(a.Name), place(b.Name)) })
	return tabs
}

// place returns the position of a kind: common kinds first, Go handlers last.
func place(name string) int {
	return map[string]int{"Command": -2, "HTTP request": -1, "Go handler": 1}[name]
}

// KindTabs are the kinds that work.
func (p *page) KindTabs(f *taskForm) []kindTab { return p.kindTabs(f, false) }

// CheckTabs are the kinds that look at something.
func (p *page) CheckTabs(f *taskForm) []kindTab { return p.kindTabs(f, true) }

// IsCheck reports that the task looks at something.
func (f *taskForm) IsCheck() bool {
	info := f.Kind.Info()
	return info.Values != "" && info.Form == ""
}
