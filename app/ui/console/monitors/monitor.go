package monitors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// Limits of the lists and charts on the page of a monitor.
const (
	monitorSpans     = 20
	monitorIncidents = 10
	monitorTimeline  = 30 * 24 * time.Hour
	resultsPerPage   = 50
	phaseResults     = 2000 // single checks that the chart of phases is made of
	chartPoints      = 200
)

// monitorHead is the head of all pages of a monitor.
type monitorHead struct {
	V  view.MonitorView
	At string // the page: empty, results, versions, alerts or settings
}

// MonitorTabs leads to the pages of a monitor.
func (p *page) MonitorTabs(h monitorHead) []parts.Tab {
	tabs := []parts.Tab{parts.NewTab("Overview", p.Link("monitors", h.V.Name), h.At == "", "")}
	all := []string{"results", "versions", "alerts", "settings"}
	if h.V.Kind() != task.KindPage {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "versions" })
	}
	for _, at := range all {
		tabs = append(tabs, parts.NewTab(parts.SentenceCase(at), p.Link("monitors", h.V.Name, at), h.At == at, ""))
	}
	return tabs
}

type monitorData struct {
	monitorHead
	Uptime    view.UptimeReport
	Bars      []monitor.Bars
	Now       time.Time
	Range     chartRange
	From      time.Time // of the range
	Series    monitor.Series
	Phases    []view.MonitorResult
	Timeline  []heldSpan // newest first
	Incidents core.Page[monitor.Incident]
}

// chartRange is how far back charts go.
type chartRange struct {
	Name   string
	Span   time.Duration
	Phases bool // made of single checks, which are few enough
}

var chartRanges = []chartRange{
	{"1h", time.Hour, true}, {"24h", 24 * time.Hour, true}, {"7d", 7 * 24 * time.Hour, false}, {"30d", 30 * 24 * time.Hour, false}, {"90d", 90 * 24 * time.Hour, false},
}

// rangeOf is the range with a name. Without one it is the shortest that a monitor
// of this age fills: a young one would be a dot at the end of a long line.
func rangeOf(name string, age time.Duration) chartRange {
	for _, r := range chartRanges {
		if r.Name == name {
			return r
		}
	}
	if age < 2*chartRanges[0].Span {
		return chartRanges[0]
	}
	return chartRanges[1]
}

// barsFor is the span of bars that fits the age of a monitor.
func barsFor(age time.Duration) monitor.BarSpan {
	if age < 7*24*time.Hour {
		return monitor.BarsDay
	}
	return monitor.BarsQuarter
}

// ChartRanges lead to the same page with other charts.
func (p *page) ChartRanges(d monitorData) []parts.Tab {
	tabs := make([]parts.Tab, len(chartRanges))
	for i, r := range chartRanges {
		tabs[i] = parts.NewTab(r.Name, p.Here("range", r.Name), r.Name == d.Range.Name, "")
	}
	return tabs
}

func monitorPage(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	d := monitorData{Now: p.Now}
	var err error
	if d.V, err = p.api.Monitor(ctx, p.Namespace, name); err != nil {
		return err
	}
	age := p.Now.Sub(d.V.CreatedAt)
	d.Range = rangeOf(p.Query("range"), age)
	from := p.Now.Add(-d.Range.Span)
	d.From = from
	var spans []monitor.Span
	err = frame.Together(
		frame.Get(&d.Uptime, func() (view.UptimeReport, error) { return p.api.Uptime(ctx, p.Namespace, name) }),
		frame.Get(&d.Bars, func() ([]monitor.Bars, error) {
			return p.api.Bars(ctx, monitor.BarsQuery{Namespace: p.Namespace, Monitors: []string{name}, Span: barsFor(age)})
		}),
		frame.Get(&d.Series, func() (monitor.Series, error) {
			return p.api.Series(ctx, view.SeriesQuery{Namespace: p.Namespace, Monitor: name, From: from})
		}),
		frame.Get(&d.Phases, func() ([]view.MonitorResult, error) { return p.resultsSince(name, d.Range, from) }),
		frame.Get(&spans, func() ([]monitor.Span, error) {
			return p.api.Timeline(ctx, p.Namespace, name, p.Now.Add(-monitorTimeline))
		}),
		frame.Get(&d.Incidents, func() (core.Page[monitor.Incident], error) {
			return p.api.Incidents(ctx, view.IncidentFilter{Paging: core.Paging{Limit: monitorIncidents}, Namespace: p.Namespace, Monitor: name})
		}),
	)
	if err != nil {
		return err
	}
	d.Timeline = heldSpans(spans, p.Now)
	return p.Show("monitor", d)
}

// resultsSince are single checks, newest first, for a chart of a short range.
func (p *page) resultsSince(name string, r chartRange, from time.Time) (all []view.MonitorResult, err error) {
	f := view.ResultFilter{Paging: core.Paging{Limit: 1000}, Namespace: p.Namespace, Monitor: name, Since: from}
	for r.Phases && len(all) < phaseResults {
		part, err := p.api.Results(p.R.Context(), f)
		if err != nil {
			return nil, err
		}
		all = append(all, part.Items...)
		if f.Cursor = part.Next; f.Cursor == "" {
			break
		}
	}
	return all, nil
}

// heldSpan is a state of a target, with its duration.
type heldSpan struct {
	monitor.Span
	Lasted time.Duration
	Now    bool // it lasts until now
}

func heldSpans(spans []monitor.Span, now time.Time) []heldSpan {
	var out []heldSpan
	end := now
	for i := len(spans) - 1; i >= 0 && len(out) < monitorSpans; i-- {
		out = append(out, heldSpan{spans[i], max(0, end.Sub(spans[i].From)), i == len(spans)-1})
		end = spans[i].From
	}
	return out
}

// For is the time since an instant.
func (p *page) For(since time.Time) string { return core.SpanText(max(0, p.Now.Sub(since))) }

// uptimeStats are the uptimes of spans. The first span longer than the age of the monitor shows its whole life, and longer ones
// are empty.
func uptimeStats(d monitorData) []parts.Stat {
	var all []parts.Stat
	young := false
	for _, w := range d.Uptime.Spans {
		if young {
			all = append(all, parts.NewStat("Uptime "+w.Name, "–", "", "", "idle"))
			continue
		}
		tone := ""
		switch {
		case w.Ratio == nil:
		case *w.Ratio < 0.99:
			tone = "bad"
		case *w.Ratio < 0.999:
			tone = "warn"
		default:
			tone = "good"
		}
		name, notes := "Uptime "+w.Name, []string{}
		if young = d.V.CreatedAt.After(w.From); young {
			name, notes = "Uptime", append(notes, "since "+sinceText(d.V.CreatedAt, d.Now)+" ("+core.SpanText(d.Now.Sub(d.V.CreatedAt))+")")
		} else if w.Coverage < allSeen {
			notes = append(notes, coverText(w.Coverage)+" coverage")
		}
		if w.Outages > 0 {
			notes = append(notes, parts.Plural(w.Outages, "outage", "outages")+", down "+core.SpanText(w.Down))
		}
		all = append(all, parts.NewStat(name, upText(w.Ratio), strings.Join(notes, "; "), "", tone))
	}
	return all
}

// UptimeBars are the bars on the page of a monitor.
func (d monitorData) UptimeBars() uptimeBars {
	if len(d.Bars) == 0 {
		return newUptimeBars(monitor.Bars{Monitor: d.V.Name}, d.V.CreatedAt, d.Now)
	}
	return newUptimeBars(d.Bars[0], d.V.CreatedAt, d.Now)
}

func millis(d core.Duration) *float64 {
	if d == 0 {
		return nil
	}
	ms := float64(d.D().Round(10*time.Microsecond)) / float64(time.Millisecond)
	return &ms
}

// LatencyChart has the percentiles of good checks.
func (d monitorData) LatencyChart() *parts.Chart {
	c := parts.Chart{Title: "Latency of good checks", Kind: "line", Unit: "ms", X: "When", Series: []string{"p50", "p95", "p99"}}
	any := false
	var end time.Time
	for _, s := range d.Series {
		if !end.IsZero() && s.From.After(end) { // nothing was checked between
			c.Rows = append(c.Rows, parts.ChartRow{At: end, Values: make([]*float64, 3)})
		}
		end = s.From.Add(s.Span.D())
		any = any || s.P50 > 0
		c.Rows = append(c.Rows, parts.ChartRow{At: s.From, Values: []*float64{millis(s.P50), millis(s.P95), millis(s.P99)}})
	}
	if !any {
		return nil
	}
	return d.padded(c)
}

// padded makes a chart as long as its range, however few points it has.
func (d monitorData) padded(c parts.Chart) *parts.Chart {
	none := make([]*float64, len(c.Series))
	if from := d.From.Truncate(time.Minute); c.Rows[0].At.After(from) {
		c.Rows = slices.Insert(c.Rows, 0, parts.ChartRow{At: from, Values: none})
	}
	if to := d.From.Add(d.Range.Span).Truncate(time.Minute); c.Rows[len(c.Rows)-1].At.Before(to) {
		c.Rows = append(c.Rows, parts.ChartRow{At: to, Values: none})
	}
	return &c
}

// LatencyWithIncidents is the latency with the incidents of its time behind it.
func (p *page) LatencyWithIncidents(d monitorData) *parts.Chart {
	c := d.LatencyChart()
	if c == nil {
		return nil
	}
	from := p.Now.Add(-d.Range.Span)
	for _, i := range d.Incidents.Items {
		end := i.EndedAt
		if end.IsZero() {
			end = p.Now
		}
		if end.After(from) {
			c.Spans = append(c.Spans, parts.ChartSpan{From: i.StartedAt, To: end})
		}
	}
	if n := len(c.Spans); n > 0 {
		c.About = "The shaded time is an incident."
		if n > 1 {
			c.About = fmt.Sprintf("The shaded times are %d incidents.", n)
		}
		if n == len(d.Incidents.Items) && d.Incidents.Next != "" {
			c.About = fmt.Sprintf("The shaded times are the newest %d incidents.", n)
		}
	}
	return c
}

// OutcomeChart counts checks.
func (d monitorData) OutcomeChart() *parts.Chart {
	c := parts.Chart{Title: "Failed checks, and checks that could not run", Kind: "stacked", Unit: "", X: "When", Series: []string{"failed", "could not run"}, Tones: "bad warn"}
	var sum int64
	for _, s := range d.Series {
		fail, none := float64(s.Fail), float64(s.Error)
		sum += s.Fail + s.Error
		c.Rows = append(c.Rows, parts.ChartRow{At: s.From, Values: []*float64{&fail, &none}})
	}
	if sum == 0 || len(c.Rows) < 2 {
		return nil
	}
	return d.padded(c)
}

// PhasesChart is where the time of good checks went, on the mean.
func (d monitorData) PhasesChart() *parts.Chart {
	c := parts.Chart{Title: "Mean time by phase", Kind: "stacked", Unit: "ms", X: "When", Series: phaseNames}
	step := d.Range.Span / chartPoints
	type sum struct {
		phases [5]core.Duration
		n      int
	}
	sums, any := map[time.Time]*sum{}, false
	for _, r := range d.Phases {
		if r.Outcome != task.CheckOK && r.Outcome != task.CheckDegraded || r.Starved {
			continue
		}
		at := r.At.Truncate(step)
		if sums[at] == nil {
			sums[at] = &sum{}
		}
		sums[at].n++
		for i, v := range phaseValues(r.Phases) {
			sums[at].phases[i] += v
			any = any || v > 0
		}
	}
	if !any {
		return nil
	}
	for at, s := range sums {
		row := parts.ChartRow{At: at, Values: make([]*float64, 5)}
		for i, v := range s.phases {
			ms := float64((v / core.Duration(s.n)).D().Round(10*time.Microsecond)) / float64(time.Millisecond)
			row.Values[i] = &ms
		}
		c.Rows = append(c.Rows, row)
	}
	slices.SortFunc(c.Rows, func(a, b parts.ChartRow) int { return a.At.Compare(b.At) })
	return d.padded(c)
}

type monitorAlertsData struct {
	monitorHead
	alertLog
}

func monitorAlerts(p *page) error {
	ctx, name := p.R.Context(), p.R.PathValue("name")
	d := monitorAlertsData{monitorHead: monitorHead{At: "alerts"}}
	err := frame.Together(
		frame.Get(&d.V, func() (view.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		frame.Get(&d.alertLog, func() (alertLog, error) {
			return p.alertLog(alert.Filter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: name})
		}),
	)
	if err != nil {
		return err
	}
	return p.Show("monitor-alerts", d)
}

// MonitorHead returns the data of the tabs of a monitor's pages.
func (h monitorHead) MonitorHead() monitorHead { return h }

// MonitorShown is the monitor that the page is about, if it is about one.
func (p *page) MonitorShown() string {
	if d, is := p.Data.(monitorAlertsData); is {
		return d.V.Name
	}
	return ""
}
