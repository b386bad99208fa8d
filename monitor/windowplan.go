package monitor

import (
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cron"
	"github.com/belfry-run/belfry/schedule"
)

// WindowPlan is a window made ready to ask when it holds.
type WindowPlan struct {
	name     string
	from, to time.Time     // of one that comes once
	times    cron.Times    // begins of one that comes again
	lasts    time.Duration // real time, whatever the clocks show
}

// ActiveWindow is one occurrence of a window: it holds from From on, and does
// not hold any more at To.
type ActiveWindow struct {
	Name string    `json:"name"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// CompileWindow makes a window with its defaults ready to ask. The plan of one
// that is off never holds. Callers keep the plan by (id, generation).
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

// mergeSteps bounds how many occurrences are looked at to find where a row of
// them begins and ends. A window that is still not over then is refused when
// it is saved.
const mergeSteps = 400

// around is the occurrence under way at the begin b of one of the rules:
// those that overlap it or touch it are one with it. Each step goes as far as
// the occurrence at hand reaches, so many short steps of a rule cost one.
func (p WindowPlan) around(b time.Time) (at ActiveWindow, ends bool) {
	first, last := b, b
	for range mergeSteps {
		before := p.times.Next(first.Add(-p.lasts - 1)) // of the begins that reach to first, the first
		if before.IsZero() || !before.Before(first) {
			break
		}
		first = before
	}
	for range mergeSteps {
		next := p.times.Prev(last.Add(p.lasts + 1)) // of the begins that last reaches, the last
		if next.IsZero() || !next.After(last) {
			ends = true
			break
		}
		last = next
	}
	return ActiveWindow{p.name, core.Micro(first), core.Micro(last.Add(p.lasts))}, ends
}

// At is the occurrence that is under way at t.
func (p WindowPlan) At(t time.Time) (ActiveWindow, bool) {
	if p.times == nil {
		if t.Before(p.from) || !t.Before(p.to) {
			return ActiveWindow{}, false
		}
		return ActiveWindow{p.name, p.from, p.to}, true
	}
	last := p.times.Prev(t.Add(1)) // at t or before
	if last.IsZero() || !t.Before(last.Add(p.lasts)) {
		return ActiveWindow{}, false
	}
	at, _ := p.around(last)
	return at, true
}

// begin is when the window begins next, for a t at which it does not hold.
func (p WindowPlan) begin(t time.Time) time.Time {
	switch {
	case p.times != nil:
		return core.Micro(p.times.Next(t))
	case p.from.After(t):
		return p.from
	}
	return time.Time{}
}

// Upcoming is up to n occurrences that are not over at from, the one under
// way included.
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
