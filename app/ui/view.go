package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// view is a board as the template wants it.
type boardPage struct {
	Title, Description string
	Wide, High         int // pixels of the logo
	Links              links
	Stale              bool
	At                 moment
	Overall            state
	Summary            string
	Announced          []announcementView
	Mail, Webhooks     bool // visitors may subscribe
	Windows            []windowView
	Sections           []sectionView
	Legend             []legendEntry
	Ongoing            []incidentView
	Days               []incidentDay // of incidents that are over, newest first
}

// links are where a page's parts are.
type links struct {
	Page, JSON, Feed string
	Style, Times     string
	Icon             string
	Colours, Logo    string // empty: none
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

// Word is the name of the state.
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

// stateOf is the shown state of a monitor: unknown if it is not watched, and
// maintenance even while it is down.
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
	Since             moment // start of a state other than operational
	Uptime            string // empty: nothing is known
	Bars              bars
}

type incidentView struct {
	Monitor  string
	From, To moment
	Lasted   string
	Short    []incidentView // that it stands for, if it stands for several
	Updates  []updateView   // newest first
}

// updateView is an update written by people.
type updateView struct {
	At    moment
	State string // empty: none
	Text  string
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
	v.Wide, v.High = logoSize(b.Logo)
	states := map[string]state{} // a monitor in two sections counts once
	labels := map[string]string{}
	var order []string
	for _, s := range b.Sections {
		section := sectionView{Title: cmp.Or(s.Title, "Monitors")}
		for _, e := range s.Monitors {
			if _, twice := states[e.Monitor]; !twice {
				order = append(order, e.Monitor)
			}
			states[e.Monitor], labels[e.Monitor] = stateOf(e), cmp.Or(labels[e.Monitor], e.Label())
			section.Monitors = append(section.Monitors, newMonitor(e))
		}
		v.Sections = append(v.Sections, section)
	}
	v.Overall, v.Summary = summarise(order, states, labels)
	v.Links.Icon = assetLink(l.Icon, iconOf(v.Overall))
	if stale {
		v.Links.Icon = assetLink(l.Icon, iconOf(unknown))
	}
	v.Ongoing, v.Days = newIncidents(b)
	v.Windows = newWindows(b)
	v.Announced = newAnnouncements(b)
	v.Mail, v.Webhooks = slices.Contains(b.Subscribe, public.Mail), slices.Contains(b.Subscribe, public.Webhook)
	return v
}

// logoWide bounds a logo on the page, in pixels of CSS.
const logoWide = 320

// logoSize is how large a logo is shown: never larger than it is.
func logoSize(l public.Logo) (wide, high int) {
	if l.Width == 0 || l.Height == 0 {
		return 0, 0
	}
	scale := min(1, public.LogoHeight/float64(l.Height), logoWide/float64(l.Width))
	return max(1, int(math.Round(float64(l.Width)*scale))), max(1, int(math.Round(float64(l.Height)*scale)))
}

func newMonitor(e view.BoardEntry) monitorView {
	m := monitorView{Name: e.Label(), Description: e.Description, State: stateOf(e), Bars: newBars(e)}
	if m.State == down || m.State == paused {
		m.Since = moment{e.Since}
	}
	if e.Uptime != nil {
		m.Uptime = percent(*e.Uptime)
	}
	return m
}

// incidentDay is the incidents that began on a day.
type incidentDay struct {
	Day       moment
	Incidents []incidentView
}

// Of the incidents of a monitor on one day, so many that lasted less than
// blip are one entry.
const (
	blip     = 5 * time.Minute
	minBlips = 3
)

// newIncidents are those that go on, and the others by day.
func newIncidents(b view.Board) (ongoing []incidentView, days []incidentDay) {
	blips := map[string]int{} // by day and monitor
	isBlip := func(e view.BoardEntry) bool {
		return !e.EndedAt.IsZero() && len(e.Updates) == 0 && e.EndedAt.Sub(e.StartedAt) < blip
	}
	key := func(e view.BoardEntry) string { return moment{e.StartedAt}.Date() + " " + e.Monitor }
	for _, e := range b.Incidents {
		if isBlip(e) {
			blips[key(e)]++
		}
	}
	folded := map[string]*incidentView{}
	total := map[string]time.Duration{}
	for _, e := range b.Incidents {
		i := newIncident(e, b.At)
		if !i.Over() {
			ongoing = append(ongoing, i)
			continue
		}
		if len(days) == 0 || days[len(days)-1].Day.Date() != i.From.Date() {
			days = append(days, incidentDay{Day: i.From, Incidents: make([]incidentView, 0, len(b.Incidents))})
		}
		day := &days[len(days)-1]
		if k := key(e); isBlip(e) && blips[k] >= minBlips {
			total[k] += e.EndedAt.Sub(e.StartedAt)
			if folded[k] == nil {
				day.Incidents = append(day.Incidents, incidentView{Monitor: e.Label(), From: i.From, To: i.To})
				folded[k] = &day.Incidents[len(day.Incidents)-1] // whose list never grows beyond its room
			}
			folded[k].Short = append(folded[k].Short, i)
			folded[k].Lasted = core.SpanText(total[k])
			continue
		}
		day.Incidents = append(day.Incidents, i)
	}
	return ongoing, days
}

func newIncident(e view.BoardEntry, now time.Time) incidentView {
	i := incidentView{Monitor: e.Label(), From: moment{e.StartedAt}, To: moment{e.EndedAt}}
	i.Lasted = core.SpanText(now.Sub(e.StartedAt))
	if i.Over() {
		i.Lasted = core.SpanText(e.EndedAt.Sub(e.StartedAt))
	}
	for _, u := range e.Updates {
		i.Updates = append(i.Updates, updateView{At: moment{u.At}, State: string(u.State), Text: u.Text})
	}
	return i
}

// newWindows are those that are not over, each once, in the order of their begins.
func newWindows(b view.Board) (out []windowView) {
	for _, w := range b.Windows {
		next := windowView{cmp.Or(w.Title, w.Name), moment{w.From}, moment{w.To}, !w.From.After(b.At)}
		if w.To.After(b.At) && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	slices.SortStableFunc(out, func(a, b windowView) int { return a.From.Compare(b.From.Time) })
	return out
}

// summarise returns the worst state, with its monitors. A monitor that is not watched does not
// make all operational.
func summarise(order []string, states map[string]state, labels map[string]string) (state, string) {
	count, names := map[state]int{}, map[state][]string{}
	for _, name := range order {
		s := states[name]
		count[s]++
		names[s] = append(names[s], labels[name])
	}
	if len(states) == 0 {
		return unknown, "Nothing is monitored here yet"
	}
	if count[operational] == len(states) {
		return operational, "All systems operational"
	}
	for _, s := range []state{down, degraded, maintenance} {
		if count[s] > 0 {
			return s, headline(names[s], len(states), map[state]string{down: "down", degraded: "degraded", maintenance: "in maintenance"}[s])
		}
	}
	for _, s := range []state{operational, paused, unknown} {
		if n := count[s]; n > 0 {
			return s, fmt.Sprintf("%s: %d of %s", s.Word(), n, systems(len(states)))
		}
	}
	return unknown, unknown.Word()
}

// The names of a headline, and how many bytes they may have.
const (
	headlineNames = 3
	headlineBytes = 100
)

// headline says in one sentence how some of the systems are.
func headline(names []string, of int, what string) string {
	if len(names) == of && of > 1 {
		return "All systems are " + what
	}
	shown := names
	var others string
	if len(names) > headlineNames {
		shown = names[:headlineNames-1]
		others = fmt.Sprintf("%d others", len(names)-len(shown))
	}
	text := strings.Join(shown, ", ")
	switch {
	case others != "":
		text += " and " + others
	case len(shown) > 1:
		last := len(shown) - 1
		text = strings.Join(shown[:last], ", ") + " and " + shown[last]
	}
	if len(text) > headlineBytes {
		text = fmt.Sprintf("%d of %s", len(names), systems(of))
	}
	if len(names) == 1 {
		return text + " is " + what
	}
	return text + " are " + what
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
