package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// view is a board as the template wants it.
type boardPage struct {
	Title, Description string
	Links              links
	Stale              bool
	At                 moment
	Overall            state
	Summary            string
	Windows            []windowView
	Sections           []sectionView
	Legend             []legendEntry
	Incidents          []incidentView
}

// links are where a page's parts are.
type links struct {
	Page, JSON, Feed string
	Style, Icon      string
}

// state is how a monitor, or all, is doing. Each has a word and a shape besides
// its colour.
type state string

const (
	operational state = "up"
	degraded    state = "degraded"
	maintenance state = "maintenance"
	down        state = "down"
	paused      state = "paused"
	unknown     state = "unknown"
)

// Word is what it is called.
func (s state) Word() string {
	switch s {
	case operational:
		return "Operational"
	case degraded:
		return "Degraded"
	case maintenance:
		return "Maintenance"
	case down:
		return "Down"
	case paused:
		return "Paused"
	}
	return "No data"
}

// stateOf is the one state that is shown of a monitor: what is not watched is
// not known, and in maintenance it may be down.
func stateOf(e view.BoardEntry) state {
	switch {
	case e.Status == monitor.StatusPaused:
		return paused
	case e.Maintenance:
		return maintenance
	case e.Stale:
		return unknown
	case e.Status == monitor.StatusDown:
		return down
	case e.Status == monitor.StatusUp && e.Degraded:
		return degraded
	case e.Status == monitor.StatusUp:
		return operational
	}
	return unknown
}

type sectionView struct {
	Title    string
	Monitors []monitorView
}

type monitorView struct {
	Name, Description string
	State             state
	Since             moment // of what is not as it should be
	Uptime            string // empty: nothing is known
	Bars              bars
}

type incidentView struct {
	Monitor  string
	From, To moment
	Lasted   string
}

// Over reports that it has ended.
func (i incidentView) Over() bool { return !i.To.IsZero() }

type windowView struct {
	Name     string
	From, To moment
	UnderWay bool
}

type legendEntry struct {
	Path template.HTML
	Word string
}

func newView(b view.Board, l links, stale bool) boardPage {
	v := boardPage{Title: b.Title, Description: b.Description, Links: l, Stale: stale, At: moment{b.At}, Legend: legend()}
	states := map[string]state{} // a monitor in two sections counts once
	for _, s := range b.Sections {
		section := sectionView{Title: cmp.Or(s.Title, "Monitors")}
		for _, e := range s.Monitors {
			states[e.Monitor] = stateOf(e)
			section.Monitors = append(section.Monitors, newMonitor(e))
		}
		v.Sections = append(v.Sections, section)
	}
	v.Overall, v.Summary = summarise(states)
	v.Links.Icon = assetLink(l.Icon, iconOf(v.Overall))
	if stale {
		v.Links.Icon = assetLink(l.Icon, iconOf(unknown))
	}
	for _, i := range b.Incidents {
		v.Incidents = append(v.Incidents, newIncident(i, b.At))
	}
	v.Windows = newWindows(b)
	return v
}

func newMonitor(e view.BoardEntry) monitorView {
	m := monitorView{Name: e.Monitor, Description: e.Description, State: stateOf(e), Bars: newBars(e)}
	if m.State == down || m.State == paused {
		m.Since = moment{e.Since}
	}
	if e.Uptime != nil {
		m.Uptime = percent(*e.Uptime)
	}
	return m
}

func newIncident(e view.BoardEntry, now time.Time) incidentView {
	i := incidentView{Monitor: e.Monitor, From: moment{e.StartedAt}, To: moment{e.EndedAt}}
	i.Lasted = span(now.Sub(e.StartedAt))
	if i.Over() {
		i.Lasted = span(e.EndedAt.Sub(e.StartedAt))
	}
	return i
}

// newWindows are those that are not over, each once, in the order of their begins.
func newWindows(b view.Board) (out []windowView) {
	for _, w := range b.Windows {
		next := windowView{w.Name, moment{w.From}, moment{w.To}, !w.From.After(b.At)}
		if w.To.After(b.At) && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	slices.SortStableFunc(out, func(a, b windowView) int { return a.From.Compare(b.From.Time) })
	return out
}

// summarise says the worst there is, of how many. What nobody watches does not
// make all operational.
func summarise(states map[string]state) (state, string) {
	count := map[state]int{}
	for _, s := range states {
		count[s]++
	}
	if len(states) == 0 {
		return unknown, "Nothing is monitored here yet"
	}
	if count[operational] == len(states) {
		return operational, "All systems operational"
	}
	for _, s := range []state{down, degraded, maintenance, operational, paused, unknown} {
		if n := count[s]; n > 0 {
			return s, fmt.Sprintf("%s: %d of %s", s.Word(), n, systems(len(states)))
		}
	}
	return unknown, unknown.Word()
}

func systems(n int) string {
	if n == 1 {
		return "1 system"
	}
	return fmt.Sprintf("%d systems", n)
}

func iconOf(s state) string {
	switch s {
	case operational:
		return "icon-up.svg"
	case down:
		return "icon-down.svg"
	}
	return "icon-other.svg"
}
