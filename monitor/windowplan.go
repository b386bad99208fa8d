package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// WindowPlan is a compiled window.
type WindowPlan struct {
	name     string
	from, to time.Time     // of a single window
	times    cron.Times    // starts of a recurring window
	lasts    time.Duration // elapsed time, whatever the wall clock shows
}

// ActiveWindow is one occurrence of a window, from From up to but not including
// To.
type ActiveWindow struct {
	Name  string    `json:"name"`
	Title string    `json:"title,omitempty" doc:"Of the window, on status pages"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
}

// CompileWindow compiles a window that has its defaults. The plan of a disabled
// window has no occurrences. Callers cache the plan by (ID, generation).
func CompileWindow(w Window) (WindowPlan, error) {
	var p core.Problems
	plan := w.compile(&p, time.Time{})
	if w.Off {
		plan = WindowPlan{name: w.Name}
	}
	return plan, p.Err("window " + w.Name)
}

func (w Window) compile(p *core.Problems, after time.Time) WindowPlan {
	if len(w.Rules) == 0 {
		return WindowPlan{name: w.Name, from: w.From, to: w.To}
	}
	s := schedule.Schedule{Namespace: w.Namespace, Name: w.Name, Zone: w.Zone, Rules: w.Rules}
	plan, err := s.PlanFor(p, after)
	if err != nil {
		return WindowPlan{}
	}
	return WindowPlan{name: w.Name, times: plan.Times, lasts: w.Lasts.D()}
}

// mergeSteps is the most occurrences that are merged to find the start and end of
// a connected period. A window that needs more is refused when it is saved.
const mergeSteps = 400

// around returns the occurrence that contains the start b of one of the rules.
// Occurrences that overlap or touch are merged. Each step goes to the end of the
// current occurrence, so many short intervals of a rule cost one step.
func (p WindowPlan) around(b time.Time) (at ActiveWindow, ends bool) {
	first, last := b, b
	for range mergeSteps {
		before := p.times.Next(first.Add(-p.lasts - 1)) // the earliest start whose occurrence reaches first
		if before.IsZero() || !before.Before(first) {
			break
		}
		first = before
	}
	for range mergeSteps {
		next := p.times.Prev(last.Add(p.lasts + 1)) // the latest start within the occurrence of last
		if next.IsZero() || !next.After(last) {
			ends = true
			break
		}
		last = next
	}
	return ActiveWindow{Name: p.name, From: core.Micro(first), To: core.Micro(last.Add(p.lasts))}, ends
}

// At returns the occurrence at t, if there is one.
func (p WindowPlan) At(t time.Time) (ActiveWindow, bool) {
	if p.times == nil {
		if t.Before(p.from) || !t.Before(p.to) {
			return ActiveWindow{}, false
		}
		return ActiveWindow{Name: p.name, From: p.from, To: p.to}, true
	}
	last := p.times.Prev(t.Add(1)) // at t or before
	if last.IsZero() || !t.Before(last.Add(p.lasts)) {
		return ActiveWindow{}, false
	}
	at, _ := p.around(last)
	return at, true
}

// begin returns the next start of the window after a t without an occurrence.
func (p WindowPlan) begin(t time.Time) time.Time {
	switch {
	case p.times != nil:
		return core.Micro(p.times.Next(t))
	case p.from.After(t):
		return p.from
	}
	return time.Time{}
}

// Upcoming returns up to n occurrences that end after from, including the current
// one.
func (p WindowPlan) Upcoming(from time.Time, n int) []ActiveWindow {
	var out []ActiveWindow
	for t := from; len(out) < n; {
		at, under := p.At(t)
		if !under {
			if t = p.begin(t); t.IsZero() {
				break
			}
			continue
		}
		out = append(out, at)
		t = at.To
	}
	return out
}
