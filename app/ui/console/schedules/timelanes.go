package schedules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

const (
	// lanesPerPage bounds the schedules of a picture, lanesPast the results of each, and lanesAhead its starts.
	lanesPerPage = 25
	lanesPast    = 100
	lanesAhead   = 150

	lanesWide = 1000 // of a picture; the present is in its middle
	laneLeast = 4    // of a bar, so that it can be seen
	laneSlots = 200  // of the sum of all lanes
)

// laneSpan is how far a picture reaches, to both sides.
type laneSpan struct {
	Name string
	Span time.Duration
}

var laneSpans = []laneSpan{{"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

func laneSpanOf(name string) laneSpan {
	for _, s := range laneSpans {
		if s.Name == name {
			return s
		}
	}
	return laneSpans[1]
}

// lanesData is the timeline of a page of schedules.
type lanesData struct {
	scheduleListData
	Span  laneSpan
	Lanes timeLanes
}

// timeLanes is a picture of what schedules ran, and when they start next.
type timeLanes struct {
	From, Now, To time.Time
	Rows          []timeLane
	Once          onceLane
}

// timeLane is the lane of a schedule.
type timeLane struct {
	schedule.Schedule
	Marks        []laneMark
	Unknown      int // up to here the past is not shown
	Beyond       int // from here on starts are not shown; 0: all are
	Runs, Failed int
	Skipped      int
	Ahead        int
	LastFailed   int64 // a job; 0: none
	Usual        core.Duration

	bars []laneBar
}

// laneMark is a bar of a lane: a run or a start, or several that lie too close to be seen apart.
type laneMark struct {
	X, Wide int
	Class   string // tone of the result, or ahead for a planned run
	Title   string
}

// laneBar is one run or start.
type laneBar struct {
	from, to time.Time
	class    string
	word     string
}

// onceLane is the number of past and planned runs at the same time.
type onceLane struct {
	Past, Ahead       string // paths
	MostPast          int
	MostAhead         int
	PastAt, AheadAt   time.Time
	slotsPast, slots2 []int
}

// newTimeLanes is a picture without lanes. Its present is rounded to a 120th of the span: an unchanged picture then stays the
// same between live updates, and is not sent again.
func newTimeLanes(now time.Time, span time.Duration) timeLanes {
	mid := now.Truncate(span / 120)
	return timeLanes{From: mid.Add(-span), Now: mid, To: mid.Add(span)}
}

// x is the horizontal position of an instant.
func (l timeLanes) x(at time.Time) int {
	return int(min(lanesWide, max(0, int64(lanesWide)*int64(at.Sub(l.From))/int64(l.To.Sub(l.From)))))
}

// add draws a schedule. Past has the newest first. A list at its limit may be incomplete, so the time beyond it is marked.
func (l *timeLanes) add(s schedule.Schedule, past []view.StripResult, pastFull bool, coming []schedule.Coming, comingFull bool) {
	row := timeLane{Schedule: s}
	var good []core.Duration
	for _, r := range past {
		if r.State == job.Succeeded {
			good = append(good, r.Took)
		}
	}
	if slices.Sort(good); len(good) > 0 {
		row.Usual = good[len(good)/2]
	}
	for _, r := range past {
		row.ran(*l, r)
	}
	if pastFull && len(past) > 0 {
		if oldest := past[len(past)-1]; oldest.At.After(l.From) {
			row.Unknown = l.x(oldest.At.Add(-oldest.Took.D()))
		}
	}
	for _, c := range coming {
		if c.Skipped != "" || c.DueAt.After(l.To) {
			continue
		}
		row.Ahead++
		row.bars = append(row.bars, laneBar{from: c.DueAt, to: c.DueAt.Add(row.Usual.D()), class: "ahead", word: "start"})
	}
	if comingFull && len(coming) > 0 && coming[len(coming)-1].Nominal.Before(l.To) {
		row.Beyond = max(1, l.x(coming[len(coming)-1].Nominal))
	}
	row.Marks = l.marks(row.bars)
	l.Rows = append(l.Rows, row)
}

// ran adds a result.
func (r *timeLane) ran(l timeLanes, res view.StripResult) {
	b := laneBar{from: res.At.Add(-res.Took.D()), to: res.At, word: parts.Words(string(res.State))}
	switch res.State {
	case job.Succeeded:
		b.class = "good"
	case job.Failed:
		b.class = "bad"
	case job.Running:
		b.from, b.to, b.class = res.At, l.Now, "busy"
	case job.Waiting, job.Scheduled, job.Ready:
		b.from, b.to, b.class = res.At, later(res.At, l.Now), "warn"
	default:
		if b.class = "idle"; res.Took == 0 && !res.Nominal.IsZero() {
			b.from, b.to = res.Nominal, res.Nominal
		}
	}
	if b.to.Before(l.From) || b.from.After(l.To) {
		return
	}
	switch res.State {
	case job.Skipped:
		r.Skipped += max(1, res.Missed)
	case job.Failed:
		r.Failed, r.Runs = r.Failed+1, r.Runs+1
		r.LastFailed = cmp.Or(r.LastFailed, res.JobID)
	case job.Succeeded, job.Canceled, job.Running:
		r.Runs++
	}
	r.bars = append(r.bars, b)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// marks draws bars. Short ones that touch become one, with the tone of the worst.
func (l timeLanes) marks(bars []laneBar) (all []laneMark) {
	slices.SortStableFunc(bars, func(a, b laneBar) int { return a.from.Compare(b.from) })
	worst := []string{"ahead", "idle", "good", "busy", "warn", "bad"}
	type group struct {
		laneMark
		from, to time.Time
		counts   map[string]int
	}
	var groups []group
	for _, b := range bars {
		end := lanesWide
		if b.class != "ahead" {
			end = l.x(l.Now)
		}
		x := min(l.x(b.from), end-laneLeast)
		wide := max(laneLeast, min(l.x(b.to), end)-x)
		if n := len(groups) - 1; n >= 0 && (groups[n].Class == "ahead") == (b.class == "ahead") {
			if g := &groups[n]; x <= g.X+g.Wide+1 && (wide == laneLeast || g.Wide == laneLeast || g.counts["any"] > 1) {
				g.Wide = max(g.Wide, x+wide-g.X)
				g.counts[b.word]++
				g.counts["any"]++
				g.to = later(g.to, b.to)
				if slices.Index(worst, b.class) > slices.Index(worst, g.Class) {
					g.Class = b.class
				}
				continue
			}
		}
		groups = append(groups, group{laneMark{X: x, Wide: wide, Class: b.class}, b.from, b.to, map[string]int{b.word: 1, "any": 1}})
	}
	for _, g := range groups {
		g.Title = said(g.from, g.to, g.counts)
		all = append(all, g.laneMark)
	}
	return all
}

// said is the tooltip of a bar. Times are in UTC, as in all pictures.
func said(from, to time.Time, counts map[string]int) string {
	at := parts.TimeTitle(from)
	if counts["any"] == 1 {
		for word := range counts {
			if word != "any" {
				at += ": " + word
			}
		}
		if to.After(from) {
			at += ", " + core.SpanText(to.Sub(from))
		}
		return at
	}
	var words []string
	for word, n := range counts {
		switch {
		case word == "any":
		case word == "start":
			words = append(words, fmt.Sprintf("%d starts", n))
		default:
			words = append(words, fmt.Sprintf("%d %s", n, word))
		}
	}
	slices.Sort(words)
	return at + " to " + parts.TimeTitle(to) + ": " + strings.Join(words, ", ")
}

// sum counts the runs of all lanes at the same time. A planned run is taken to last the median of past runs.
func (l *timeLanes) sum() {
	type edge struct {
		at    time.Time
		step  int
		ahead bool
	}
	var edges []edge
	for _, row := range l.Rows {
		for _, b := range row.bars {
			if b.class == "warn" || b.class == "idle" && !b.to.After(b.from) {
				continue // waits, or never ran
			}
			end := b.to
			if !end.After(b.from) {
				end = b.from.Add(time.Microsecond)
			}
			edges = append(edges, edge{b.from, 1, b.class == "ahead"}, edge{end, -1, b.class == "ahead"})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	o := onceLane{slotsPast: make([]int, laneSlots), slots2: make([]int, laneSlots)}
	slot := func(at time.Time) int { return min(laneSlots-1, l.x(at)*laneSlots/lanesWide) }
	running := map[bool]int{}
	for i, e := range edges {
		running[e.ahead] += e.step
		slots, most, when := o.slotsPast, &o.MostPast, &o.PastAt
		if e.ahead {
			slots, most, when = o.slots2, &o.MostAhead, &o.AheadAt
		}
		if running[e.ahead] > *most {
			*most, *when = running[e.ahead], e.at
		}
		until := l.To
		for _, next := range edges[i+1:] {
			if next.ahead == e.ahead {
				until = next.at
				break
			}
		}
		if running[e.ahead] == 0 {
			continue
		}
		for k := slot(e.at); k <= slot(until); k++ {
			if k > slot(e.at) && !until.After(l.From.Add(l.To.Sub(l.From)*time.Duration(k)/laneSlots)) {
				break
			}
			slots[k] = max(slots[k], running[e.ahead])
		}
	}
	most := max(o.MostPast, o.MostAhead, 1)
	draw := func(slots []int) string {
		var text strings.Builder
		for k := 0; k < laneSlots; k++ {
			n, from := slots[k], k
			for k+1 < laneSlots && slots[k+1] == n {
				k++
			}
			if n > 0 {
				high := max(2, n*onceHigh/most)
				fmt.Fprintf(&text, "M%d %dh%dv%dh-%dz", from*lanesWide/laneSlots, onceHigh-high, (k+1-from)*lanesWide/laneSlots, high, (k+1-from)*lanesWide/laneSlots)
			}
		}
		return text.String()
	}
	o.Past, o.Ahead = draw(o.slotsPast), draw(o.slots2)
	l.Once = o
}

const onceHigh = 32

// Said is the sum in words.
func (o onceLane) Said() string {
	text := "Nothing ran"
	if o.MostPast > 0 {
		text = fmt.Sprintf("At most %s at once, at %s", parts.Plural(o.MostPast, "run", "runs"), parts.TimeTitle(o.PastAt))
	}
	if o.MostAhead > 0 {
		text += fmt.Sprintf("; ahead at most %d at once, at %s, if runs take as long as usual", o.MostAhead, parts.TimeTitle(o.AheadAt))
	}
	return text
}

// Said is a lane in words.
func (r timeLane) Said() string {
	text := r.Name + ": " + parts.Plural(r.Runs, "run", "runs")
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	switch {
	case r.Beyond > 0:
		text += fmt.Sprintf("; ahead over %d starts", r.Ahead)
	case r.Ahead > 0:
		text += "; ahead " + parts.Plural(r.Ahead, "start", "starts")
	default:
		text += "; no start ahead"
	}
	return text
}

// BeyondWide is the width of the time in which planned runs are not drawn.
func (r timeLane) BeyondWide() int { return lanesWide - r.Beyond }

// showLanes shows the timeline of a page of schedules.
func showLanes(p *page, list scheduleListData, found []schedule.Schedule) error {
	d := lanesData{scheduleListData: list, Span: laneSpanOf(p.Query("span"))}
	d.Lanes = newTimeLanes(p.Now, d.Span.Span)
	names := map[string][]string{}
	for _, s := range found {
		names[s.Namespace] = append(names[s.Namespace], s.Name)
	}
	past := map[int64][]view.StripResult{}
	looks := make([]schedule.Look, len(found))
	var strips []view.Strip
	reads := []func() error{func() error {
		for namespace, of := range names {
			some, err := p.api.Strips(p.R.Context(), view.StripQuery{Namespace: namespace, Schedules: of, N: lanesPast})
			if err != nil {
				return err
			}
			strips = append(strips, some...)
		}
		return nil
	}}
	for i, s := range found {
		if s.State == schedule.Active {
			reads = append(reads, frame.Get(&looks[i], func() (schedule.Look, error) {
				look, err := p.api.Look(p.R.Context(), schedule.LookQuery{Namespace: s.Namespace, Name: s.Name, N: lanesAhead, RunsOnly: true})
				if core.CodeOf(err) == core.NotFound { // deleted meanwhile
					err = nil
				}
				return look, err
			}))
		}
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	for _, s := range strips {
		past[s.ScheduleID] = s.Results
	}
	for i, s := range found {
		d.Lanes.add(s, past[s.ID], len(past[s.ID]) == lanesPast, looks[i].Coming, len(looks[i].Coming) == lanesAhead)
	}
	d.Lanes.sum()
	return p.Show("schedules-lanes", d)
}

// LaneSpans lead to the same page with another span.
func (p *page) LaneSpans(d lanesData) []parts.Tab {
	tabs := make([]parts.Tab, len(laneSpans))
	for i, s := range laneSpans {
		tabs[i] = parts.NewTab("± "+s.Name, p.Here("span", s.Name), s.Name == d.Span.Name, "")
	}
	return tabs
}
