package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

// How much the page of a monitor shows of each.
const (
	monitorSpans     = 20
	monitorIncidents = 10
	monitorTimeline  = 30 * 24 * time.Hour
	resultsPerPage   = 50
	phaseResults     = 2000 // single checks that the chart of phases is made of
	chartPoints      = 200
)

// monitorHead is what all pages of a monitor begin with.
type monitorHead struct {
	V  belfry.MonitorView
	At string // the page: empty, results, versions, alerts or settings
}

// MonitorTabs leads to the pages of a monitor.
func (p *page) MonitorTabs(h monitorHead) []tab {
	tabs := []tab{newTab("Overview", p.Link("monitors", h.V.Name), h.At == "", "")}
	all := []string{"results", "versions", "alerts", "settings"}
	if h.V.Kind() != belfry.KindPage {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "versions" })
	}
	for _, at := range all {
		tabs = append(tabs, newTab(strings.ToUpper(at[:1])+at[1:], p.Link("monitors", h.V.Name, at), h.At == at, ""))
	}
	return tabs
}

type monitorData struct {
	monitorHead
	Uptime    belfry.UptimeReport
	Bars      []belfry.MonitorBars
	Range     chartRange
	From      time.Time // of the range
	Series    belfry.Series
	Phases    []belfry.CheckResult
	Timeline  []heldSpan // newest first
	Incidents belfry.Page[belfry.Incident]
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

func rangeOf(name string) chartRange {
	for _, r := range chartRanges {
		if r.Name == name {
			return r
		}
	}
	return chartRanges[1]
}

// ChartRanges lead to the same page with other charts.
func (p *page) ChartRanges(d monitorData) []tab {
	tabs := make([]tab, len(chartRanges))
	for i, r := range chartRanges {
		tabs[i] = newTab(r.Name, p.Here("range", r.Name), r.Name == d.Range.Name, "")
	}
	return tabs
}

func monitorPage(p *page) error {
	ctx, name := p.r.Context(), p.r.PathValue("name")
	d := monitorData{Range: rangeOf(p.Query("range"))}
	from := p.Now.Add(-d.Range.Span)
	d.From = from
	var spans []belfry.Span
	err := p.together(
		get(&d.V, func() (belfry.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		get(&d.Uptime, func() (belfry.UptimeReport, error) { return p.api.Uptime(ctx, p.Namespace, name) }),
		get(&d.Bars, func() ([]belfry.MonitorBars, error) {
			return p.api.Bars(ctx, belfry.BarsQuery{Namespace: p.Namespace, Monitors: []string{name}, Span: belfry.BarsQuarter})
		}),
		get(&d.Series, func() (belfry.Series, error) {
			return p.api.Series(ctx, belfry.SeriesQuery{Namespace: p.Namespace, Monitor: name, From: from})
		}),
		get(&d.Phases, func() ([]belfry.CheckResult, error) { return p.resultsSince(name, d.Range, from) }),
		get(&spans, func() ([]belfry.Span, error) {
			return p.api.Timeline(ctx, p.Namespace, name, p.Now.Add(-monitorTimeline))
		}),
		get(&d.Incidents, func() (belfry.Page[belfry.Incident], error) {
			return p.api.Incidents(ctx, belfry.IncidentFilter{Paging: belfry.Paging{Limit: monitorIncidents}, Namespace: p.Namespace, Monitor: name})
		}),
	)
	if err != nil {
		return err
	}
	d.Timeline = heldSpans(spans, p.Now)
	return p.show("monitor", d)
}

// resultsSince are single checks, newest first, for a chart of a short range.
func (p *page) resultsSince(name string, r chartRange, from time.Time) (all []belfry.CheckResult, err error) {
	f := belfry.ResultFilter{Paging: belfry.Paging{Limit: 1000}, Namespace: p.Namespace, Monitor: name, Since: from}
	for r.Phases && len(all) < phaseResults {
		part, err := p.api.Results(p.r.Context(), f)
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

// heldSpan is what held of a target, and how long.
type heldSpan struct {
	belfry.Span
	Lasted time.Duration
	Now    bool // it is not over
}

func heldSpans(spans []belfry.Span, now time.Time) []heldSpan {
	var out []heldSpan
	end := now
	for i := len(spans) - 1; i >= 0 && len(out) < monitorSpans; i-- {
		out = append(out, heldSpan{spans[i], max(0, end.Sub(spans[i].From)), i == len(spans)-1})
		end = spans[i].From
	}
	return out
}

// UptimeStats are the numbers about each span.
func (p *page) UptimeStats(d monitorData) []stat {
	var all []stat
	for _, w := range d.Uptime.Spans {
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
		note := coverText(w.Coverage) + " of it seen"
		if w.Outages > 0 {
			note = countOf(w.Outages, "outage", "outages") + ", down " + spanText(w.Down) + "; " + note
		}
		all = append(all, newStat("Uptime "+w.Name, upText(w.Ratio), note, "", tone))
	}
	return all
}

// UptimeBars are those of the page of one monitor.
func (d monitorData) UptimeBars() uptimeBars {
	if len(d.Bars) == 0 {
		return newUptimeBars(belfry.MonitorBars{Monitor: d.V.Name})
	}
	return newUptimeBars(d.Bars[0])
}

func millis(d belfry.Duration) *float64 {
	if d == 0 {
		return nil
	}
	ms := float64(d.D().Round(10*time.Microsecond)) / float64(time.Millisecond)
	return &ms
}

// LatencyChart has the percentiles of good checks.
func (d monitorData) LatencyChart() *chart {
	c := chart{Title: "Latency of good checks", Kind: "line", Unit: "ms", X: "When", Series: []string{"p50", "p95", "p99"}}
	any := false
	var end time.Time
	for _, s := range d.Series {
		if !end.IsZero() && s.From.After(end) { // nothing was checked between
			c.Rows = append(c.Rows, chartRow{At: end, Values: make([]*float64, 3)})
		}
		end = s.From.Add(s.Span.D())
		any = any || s.P50 > 0
		c.Rows = append(c.Rows, chartRow{At: s.From, Values: []*float64{millis(s.P50), millis(s.P95), millis(s.P99)}})
	}
	if !any {
		return nil
	}
	return d.padded(c)
}

// padded makes a chart as long as its range, however few points it has.
func (d monitorData) padded(c chart) *chart {
	none := make([]*float64, len(c.Series))
	if from := d.From.Truncate(time.Minute); c.Rows[0].At.After(from) {
		c.Rows = slices.Insert(c.Rows, 0, chartRow{At: from, Values: none})
	}
	if to := d.From.Add(d.Range.Span).Truncate(time.Minute); c.Rows[len(c.Rows)-1].At.Before(to) {
		c.Rows = append(c.Rows, chartRow{At: to, Values: none})
	}
	return &c
}

// OutcomeChart counts checks.
func (d monitorData) OutcomeChart() *chart {
	c := chart{Title: "Checks that failed, or could not be made", Kind: "stacked", Unit: "", X: "When", Series: []string{"failed", "not made"}}
	var sum int64
	for _, s := range d.Series {
		fail, none := float64(s.Fail), float64(s.Error)
		sum += s.Fail + s.Error
		c.Rows = append(c.Rows, chartRow{At: s.From, Values: []*float64{&fail, &none}})
	}
	if sum == 0 || len(c.Rows) < 2 {
		return nil
	}
	return d.padded(c)
}

var phaseNames = []string{"look-up", "connect", "TLS", "first byte", "transfer"}

func phaseValues(p belfry.Phases) []belfry.Duration {
	return []belfry.Duration{p.DNS, p.Connect, p.TLS, p.FirstByte, p.Transfer}
}

// PhasesChart is where the time of good checks went, on the mean.
func (d monitorData) PhasesChart() *chart {
	c := chart{Title: "Where the time went, on the mean", Kind: "stacked", Unit: "ms", X: "When", Series: phaseNames}
	step := d.Range.Span / chartPoints
	type sum struct {
		phases [5]belfry.Duration
		n      int
	}
	sums, any := map[time.Time]*sum{}, false
	for _, r := range d.Phases {
		if r.Outcome != belfry.CheckOK && r.Outcome != belfry.CheckDegraded || r.Starved {
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
		row := chartRow{At: at, Values: make([]*float64, 5)}
		for i, v := range s.phases {
			ms := float64((v / belfry.Duration(s.n)).D().Round(10*time.Microsecond)) / float64(time.Millisecond)
			row.Values[i] = &ms
		}
		c.Rows = append(c.Rows, row)
	}
	slices.SortFunc(c.Rows, func(a, b chartRow) int { return a.At.Compare(b.At) })
	return d.padded(c)
}

type resultsData struct {
	monitorHead
	Results belfry.Page[belfry.CheckResult]
	Outcome belfry.CheckOutcome
}

func monitorResults(p *page) error {
	ctx, name := p.r.Context(), p.r.PathValue("name")
	d := resultsData{monitorHead: monitorHead{At: "results"}, Outcome: belfry.CheckOutcome(p.Query("outcome"))}
	err := p.together(
		get(&d.V, func() (belfry.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		get(&d.Results, func() (belfry.Page[belfry.CheckResult], error) {
			return p.api.Results(ctx, belfry.ResultFilter{
				Paging: belfry.Paging{Limit: resultsPerPage, Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: name, Outcome: d.Outcome,
			})
		}),
	)
	if err != nil {
		return err
	}
	return p.show("monitor-results", d)
}

// OutcomeTabs are the views of results.
func (p *page) OutcomeTabs(d resultsData) []tab {
	tabs := []tab{newTab("All", p.Here("outcome", "", "cursor", ""), d.Outcome == "", "")}
	for _, o := range []belfry.CheckOutcome{belfry.CheckOK, belfry.CheckDegraded, belfry.CheckFail, belfry.CheckError} {
		tabs = append(tabs, newTab(outcomeWords[o], p.Here("outcome", o, "cursor", ""), d.Outcome == o, ""))
	}
	return tabs
}

var outcomeWords = map[belfry.CheckOutcome]string{
	belfry.CheckOK: "Good", belfry.CheckDegraded: "Degraded", belfry.CheckFail: "Failed", belfry.CheckError: "Not made",
}

// OutcomeChip is what a check came to.
func (p *page) OutcomeChip(o belfry.CheckOutcome) chip {
	c := newChip(o)
	if o == belfry.CheckError {
		c = newChip("stale")
	}
	c.Word = strings.ToLower(outcomeWords[o])
	return c
}

// Cause is what was wrong, in words.
func (p *page) Cause(code belfry.CheckCode) string {
	if text, is := causes[code]; is {
		return text
	}
	return words(code)
}

var causes = map[belfry.CheckCode]string{
	belfry.CodeDNSNotFound: "no such name", belfry.CodeDNSTimeout: "the name server did not answer", belfry.CodeDNSFailed: "the name was not found out",
	belfry.CodeConnectRefused: "connection refused", belfry.CodeConnectTimeout: "no connection in time", belfry.CodeConnectFailed: "no connection",
	belfry.CodeTLSHandshake: "TLS failed", belfry.CodeTLSTimeout: "TLS took too long", belfry.CodeTLSExpired: "the certificate has expired",
	belfry.CodeTLSExpiring: "the certificate expires soon", belfry.CodeTLSName: "the certificate is for another name", belfry.CodeTLSUntrusted: "nobody trusts the certificate",
	belfry.CodeWrite: "the request was not taken", belfry.CodeFirstByte: "no answer in time", belfry.CodeProtocol: "not the protocol",
	belfry.CodeStatus: "another status", belfry.CodeRedirectLimit: "too many redirects", belfry.CodeRedirectLoop: "redirects in a circle",
	belfry.CodeBodyTimeout: "the answer did not end in time", belfry.CodeBodyTooLarge: "the answer is too large", belfry.CodeBodyBroken: "the answer broke off",
	belfry.CodeExpect: "another answer", belfry.CodeAssertion: "a condition does not hold", belfry.CodeLoss: "packets were lost", belfry.CodeTimeout: "too slow",
	belfry.CodeMissed: "no call in time", belfry.CodeReported: "it said so itself", belfry.CodeSelectorMissing: "the selector finds nothing", belfry.CodeEmpty: "no text",
	belfry.CodeBlocked: "the address may not be reached", belfry.CodeUnsupported: "the worker cannot do this", belfry.CodeConfig: "the settings cannot work",
	belfry.CodeLost: "the worker was lost", belfry.CodeLate: "begun too late", belfry.CodeNetwork: "the worker is cut off", belfry.CodeInternal: "a fault of ours",
}

// Phases are the parts of a latency, in words.
func (p *page) Phases(ph belfry.Phases) string {
	var parts []string
	for i, v := range phaseValues(ph) {
		if v > 0 {
			parts = append(parts, phaseNames[i]+" "+latencyText(v))
		}
	}
	return strings.Join(parts, ", ")
}

type monitorAlertsData struct {
	monitorHead
	alertLog
}

func monitorAlerts(p *page) error {
	ctx, name := p.r.Context(), p.r.PathValue("name")
	d := monitorAlertsData{monitorHead: monitorHead{At: "alerts"}}
	err := p.together(
		get(&d.V, func() (belfry.MonitorView, error) { return p.api.Monitor(ctx, p.Namespace, name) }),
		get(&d.alertLog, func() (alertLog, error) {
			return p.alertLog(belfry.AlertFilter{Paging: belfry.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: name})
		}),
	)
	if err != nil {
		return err
	}
	return p.show("monitor-alerts", d)
}

type monitorSettingsData struct {
	monitorHead
	Groups []factGroup
	Badges []badge
	Beats  []beatCall
	Beat   string
}

// factGroup is a part of a thing's settings in words.
type factGroup struct {
	Title string
	Facts []fact
}

// badge is a picture of one fact for pages elsewhere.
type badge struct{ Name, Src, Markdown, HTML string }

// beatCall is a way to call a heartbeat.
type beatCall struct{ When, Curl string }

func monitorSettings(p *page) error {
	v, err := p.api.Monitor(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	d := monitorSettingsData{monitorHead: monitorHead{V: v, At: "settings"}, Groups: monitorFacts(v)}
	if v.Public {
		for _, kind := range []string{"status", "uptime", "latency"} {
			path := "/badge/" + url.PathEscape(v.Namespace) + "/" + url.PathEscape(v.Name) + "/" + kind + ".svg"
			full := p.c.base(p.r) + path
			d.Badges = append(d.Badges, badge{kind, p.c.prefix + path, fmt.Sprintf("![%s of %s](%s)", kind, v.Name, full), fmt.Sprintf(`<img src="%s" alt="%s of %s">`, full, kind, v.Name)})
		}
	}
	if v.Beat != "" {
		d.Beat = p.c.base(p.r) + v.Beat
		d.Beats = []beatCall{
			{"It went well. GET, HEAD and POST do the same", "curl -fsS -m 10 --retry 5 " + quote(d.Beat)},
			{"It begins. What does not end in time is then a failure, and how long it took is known", "curl -fsS -m 10 " + quote(d.Beat+"/start")},
			{"It failed", "curl -fsS -m 10 " + quote(d.Beat+"/fail")},
			{"With its exit code, after a command", "backup; curl -fsS -m 10 " + d.Beat + "/$?"},
			{"With what it said", "backup 2>&1 | tail -c 10000 | curl -fsS -m 10 --data-binary @- " + quote(d.Beat+"/log")},
			{"Runs that overlap are told apart by an id of their own", "curl -fsS -m 10 " + quote(d.Beat+"/start?rid=run-42")},
		}
	}
	return p.show("monitor-settings", d)
}

// monitorFacts are the settings of a monitor in words.
func monitorFacts(v belfry.MonitorView) []factGroup {
	m := v.Monitor
	var look, when, verdict, tell factGroup
	look.Title, when.Title, verdict.Title, tell.Title = "What is looked at", "When", "When it is down or up", "Who is told"
	add := func(g *factGroup, is bool, name, format string, args ...any) {
		if is {
			g.Facts = append(g.Facts, fact{name, fmt.Sprintf(format, args...)})
		}
	}
	add(&look, true, "Kind", "%s", m.Kind())
	add(&look, true, "Target", "%s", targetText(m))
	checkFacts(&look, m, add)
	add(&look, len(m.Check.Conditions) > 0, "Must hold", "%s", strings.Join(m.Check.Conditions, "\n"))
	add(&look, len(m.Check.Warnings) > 0, "Should hold", "%s", strings.Join(m.Check.Warnings, "\n"))
	add(&look, m.Heartbeat == nil, "Timeout", "%s", spanText(m.Check.Timeout))
	add(&when, m.Every > 0 && m.Heartbeat == nil, "Checked", "every %s", spanText(m.Every))
	add(&when, m.Every > 0 && m.Heartbeat != nil, "A call is to come", "every %s", spanText(m.Every))
	for _, r := range m.Rules {
		add(&when, true, "Rule", "%s, %s", r, m.Zone)
	}
	if h := m.Heartbeat; h != nil {
		add(&when, true, "Grace", "a call may be late by %s", spanText(h.Grace))
		add(&when, h.MaxRuntime > 0, "Longest run", "%s", spanText(h.MaxRuntime))
	}
	add(&when, len(m.Within) > 0, "Only within", "%s", strings.Join(m.Within, ", "))
	add(&when, len(m.Blackout) > 0, "Not within", "%s", strings.Join(m.Blackout, ", "))
	add(&verdict, true, "Down", "%s", threshold(m.Confirm.Failures, "failure", "failures", m.Confirm.For, "failing"))
	add(&verdict, m.Heartbeat == nil && m.Confirm.Retry > 0, "A failure is looked at again", "after %s", spanText(m.Confirm.Retry))
	add(&verdict, true, "Up again", "%s", threshold(m.Recover.Passes, "good check", "good checks", m.Recover.For, "passing"))
	add(&verdict, !m.Flap.Off, "Flapping", "when %d %% of the last checks changed; over below %d %%", m.Flap.High, m.Flap.Low)
	add(&verdict, !m.Slow.Off && m.Heartbeat == nil, "Slow", "%g standard deviations above what is usual, %s in a row, and at least %s", m.Slow.Sigma, countOf(m.Slow.Checks, "check", "checks"), latencyText(m.Slow.AtLeast))
	add(&verdict, m.Heartbeat == nil, "Stale", "when %s in a row could not be made", countOf(m.StaleAfter, "check", "checks"))
	add(&tell, true, "Muted", "%s", yesNo(m.Muted, "yes: nobody is told anything", "no: who is told say the alert rules"))
	add(&tell, len(m.DependsOn) > 0, "Depends on", "%s: while one of them is down, nobody is told of this one", strings.Join(m.DependsOn, ", "))
	add(&tell, true, "Badges", "%s", yesNo(m.Public, "can be seen by everyone", "are not public"))
	return []factGroup{look, when, verdict, tell}
}

func yesNo(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func threshold(n int, one, many string, span belfry.Duration, doing string) string {
	var parts []string
	if n > 0 {
		parts = append(parts, "after "+countOf(n, one, many+" in a row"))
	}
	if span > 0 {
		parts = append(parts, "after "+doing+" for "+spanText(span))
	}
	return strings.Join(parts, " and ")
}

// checkFacts are the settings of a kind that matter to people.
func checkFacts(g *factGroup, m belfry.Monitor, add func(g *factGroup, is bool, name, format string, args ...any)) {
	c := m.Check
	switch {
	case c.HTTP != nil:
		h := c.HTTP
		add(g, true, "Good status", "%s", strings.Join(h.ExpectStatus, ", "))
		add(g, h.ExpectBody != "", "Body matches", "%s", h.ExpectBody)
		for _, name := range sortedKeys(h.Headers) {
			add(g, true, "Header", "%s: %s", name, h.Headers[name])
		}
		if a := h.Auth; a != nil {
			add(g, a.User != "", "Signs in", "as %s, with a password that is kept secret", a.User)
			add(g, a.Bearer != "", "Signs in", "with a bearer token that is kept secret")
			add(g, a.Key != "", "Signs in", "with a certificate whose key is kept secret")
		}
		add(g, h.SkipVerify, "Certificate", "any is accepted")
		add(g, h.MaxRedirects != belfry.DefaultMaxRedirects, "Redirects", "%s", yesNo(h.MaxRedirects < 0, "not followed", fmt.Sprintf("at most %d", h.MaxRedirects)))
	case c.Page != nil:
		g2 := c.Page
		add(g, g2.CSS != "", "Selector", "%s", g2.CSS)
		add(g, g2.XPath != "", "XPath", "%s", g2.XPath)
		add(g, g2.JSONPath != "", "JSON path", "%s", g2.JSONPath)
		add(g, len(g2.IgnoreCSS) > 0, "Left out", "%s", strings.Join(g2.IgnoreCSS, "\n"))
		add(g, len(g2.Ignore) > 0, "Ignored", "%s", strings.Join(g2.Ignore, "\n"))
		add(g, len(g2.Mask) > 0, "Masked", "%s", strings.Join(g2.Mask, ", "))
		add(g, true, "Compared with", "%s", yesNo(g2.Baseline == belfry.BaselinePinned, "the version that was accepted", "the version before"))
		add(g, g2.Confirm > 0, "A change counts", "when it is still there after %s", spanText(g2.Confirm))
		add(g, true, "Texts kept", "%d", g2.KeepVersions)
	case c.DNS != nil:
		add(g, c.DNS.Server != "", "Asks", "%s", c.DNS.Server)
		add(g, len(c.DNS.Expect) > 0, "Answers", "%s%s", strings.Join(c.DNS.Expect, "\n"), yesNo(c.DNS.Exact, "\nand no others", ""))
	case c.TLS != nil:
		add(g, c.TLS.WarnDays > 0, "Degraded", "when a certificate ends within %d days", c.TLS.WarnDays)
		add(g, c.TLS.FailDays > 0, "Fails", "when a certificate ends within %d days", c.TLS.FailDays)
		add(g, c.TLS.StartTLS != "", "Asks for TLS by", "%s", c.TLS.StartTLS)
	case c.TCP != nil:
		add(g, c.TCP.Send != "", "Sends", "%s", c.TCP.Send)
		add(g, c.TCP.Expect != "", "Answer matches", "%s", c.TCP.Expect)
	case c.Ping != nil:
		add(g, true, "Requests", "%d, of which %d %% may be lost", c.Ping.Count, c.Ping.MaxLoss)
	case c.GRPC != nil:
		add(g, c.GRPC.Service != "", "Service", "%s", c.GRPC.Service)
		add(g, c.GRPC.Plaintext, "TLS", "none")
	case c.WebSocket != nil:
		add(g, c.WebSocket.Send != "", "Sends", "%s", c.WebSocket.Send)
		add(g, c.WebSocket.Expect != "", "Message matches", "%s", c.WebSocket.Expect)
	}
}

// MonitorHead is what the tabs of a monitor's pages are made of.
func (h monitorHead) MonitorHead() monitorHead { return h }

// MonitorShown is the monitor that the page is about, if it is about one.
func (p *page) MonitorShown() string {
	if d, is := p.Data.(monitorAlertsData); is {
		return d.V.Name
	}
	return ""
}
