package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry"
)

type monitorsAPI interface {
	Monitors(ctx context.Context, f belfry.MonitorFilter) (belfry.Page[belfry.MonitorView], error)
	CountMonitors(ctx context.Context, f belfry.MonitorFilter) (belfry.MonitorCount, error)
	Bars(ctx context.Context, q belfry.BarsQuery) ([]belfry.MonitorBars, error)
	Monitor(ctx context.Context, namespace, name string) (belfry.MonitorView, error)
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (belfry.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (belfry.MonitorView, error)
	CheckMonitor(ctx context.Context, namespace, name string) (belfry.Job, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Uptime(ctx context.Context, namespace, monitor string) (belfry.UptimeReport, error)
	Series(ctx context.Context, q belfry.SeriesQuery) (belfry.Series, error)
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]belfry.Span, error)
	Results(ctx context.Context, f belfry.ResultFilter) (belfry.Page[belfry.CheckResult], error)
}

var monitorRoutes = []route{
	{"GET /monitors", monitorList},
	{"GET /monitors/-bulk", monitorsDryRun},
	{"POST /monitors/-bulk", monitorsBulk},
	{"GET /monitors/{name}", monitorPage},
	{"GET /monitors/{name}/results", monitorResults},
	{"GET /monitors/{name}/alerts", monitorAlerts},
	{"GET /monitors/{name}/settings", monitorSettings},
	{"POST /monitors/{name}/pause", pauseMonitor},
	{"POST /monitors/{name}/resume", resumeMonitor},
	{"POST /monitors/{name}/check", checkMonitor},
	{"POST /monitors/{name}/delete", deleteMonitor},
}

// monitorKinds are those that a monitor may have, in the order of the form.
var monitorKinds = []belfry.Kind{
	belfry.KindHTTP, belfry.KindTCP, belfry.KindDNS, belfry.KindTLS, belfry.KindPing, belfry.KindGRPC, belfry.KindWebSocket,
	belfry.KindHeartbeat, belfry.KindPage, belfry.KindCommand,
}

// monitorsPerPage is so few because each has its bars.
const monitorsPerPage = 25

type monitorsData struct {
	Filter   belfry.MonitorFilter
	Monitors belfry.Page[belfry.MonitorView]
	Count    belfry.MonitorCount
	Bars     map[string]belfry.MonitorBars // by namespace and name
	View     string                        // list or grid
	Span     belfry.BarSpan
}

// Fresh reports that there is no monitor, and nobody searched for one.
func (d monitorsData) Fresh() bool { return len(d.Monitors.Items) == 0 && !d.Filtered() }

// Filtered reports that not all monitors are asked for.
func (d monitorsData) Filtered() bool {
	f := d.Filter
	return f.Status != "" || f.Kind != "" || f.Tag != "" || f.Search != "" || f.Cursor != ""
}

func (p *page) monitorFilter() belfry.MonitorFilter {
	return belfry.MonitorFilter{
		Paging: belfry.Paging{Limit: monitorsPerPage, Cursor: p.Query("cursor")}, Namespace: p.Namespace,
		Status: belfry.Status(p.Query("status")), Kind: belfry.Kind(p.Query("kind")), Tag: p.Query("tag"), Search: strings.TrimSpace(p.Query("search")),
	}
}

func monitorList(p *page) error {
	d := monitorsData{Filter: p.monitorFilter(), View: "list", Span: belfry.BarsQuarter}
	if p.Query("view") == "grid" {
		d.View = "grid"
	}
	if p.Query("span") == string(belfry.BarsDay) {
		d.Span = belfry.BarsDay
	}
	ctx, counted := p.r.Context(), d.Filter
	counted.Status, counted.Paging = "", belfry.Paging{}
	err := p.together(
		get(&d.Monitors, func() (belfry.Page[belfry.MonitorView], error) { return p.api.Monitors(ctx, d.Filter) }),
		get(&d.Count, func() (belfry.MonitorCount, error) { return p.api.CountMonitors(ctx, counted) }),
	)
	if err != nil {
		return err
	}
	if d.Bars, err = p.barsOf(d.Monitors.Items, d.Span); err != nil {
		return err
	}
	return p.show("monitors", d)
}

// barsOf reads the bars of monitors, one call for each of their namespaces.
func (p *page) barsOf(all []belfry.MonitorView, span belfry.BarSpan) (map[string]belfry.MonitorBars, error) {
	names := map[string][]string{}
	for _, v := range all {
		names[v.Namespace] = append(names[v.Namespace], v.Name)
	}
	found := map[string]belfry.MonitorBars{}
	for namespace, list := range names {
		bars, err := p.api.Bars(p.r.Context(), belfry.BarsQuery{Namespace: namespace, Monitors: list, Span: span})
		if err != nil {
			return nil, err
		}
		for _, b := range bars {
			found[namespace+"/"+b.Monitor] = b
		}
	}
	return found, nil
}

// BarsOf are those of one monitor of the list.
func (d monitorsData) BarsOf(v belfry.MonitorView) uptimeBars {
	return newUptimeBars(d.Bars[v.Namespace+"/"+v.Name])
}

// StatusTabs are the views of the list: all monitors, and those in each status.
func (p *page) StatusTabs(d monitorsData) []tab {
	count := func(n int) string {
		if d.Count.More {
			return numberText(n) + "+"
		}
		return numberText(n)
	}
	at := d.Filter.Status
	all := []tab{newTab("All", p.Here("status", "", "cursor", ""), at == "", count(d.Count.Count))}
	for _, s := range []belfry.Status{belfry.StatusUp, belfry.StatusDown, belfry.StatusPaused, belfry.StatusNew} {
		all = append(all, newTab(strings.ToUpper(string(s[:1]))+string(s[1:]), p.Here("status", s, "cursor", ""), at == s, count(d.Count.Statuses[s])))
	}
	return all
}

// MonitorKinds are the choices of the filter.
func (p *page) MonitorKinds() []belfry.Kind { return monitorKinds }

// MonitorsCommand is the list, without this page.
func (p *page) MonitorsCommand(d monitorsData) command {
	words := []string{"monitor", "list"}
	var query []string
	for _, f := range [][2]string{{"status", string(d.Filter.Status)}, {"kind", string(d.Filter.Kind)}, {"tag", d.Filter.Tag}, {"search", d.Filter.Search}} {
		if f[1] != "" {
			query = append(query, f[0], f[1])
			words = append(words, "--"+f[0], f[1])
		}
	}
	return p.Command("GET", p.apiPath("/v1/monitors", query...), "", words...)
}

// ApiPath is a path of the API for a command, in the namespace that is shown.
func (p *page) ApiPath(path string, query ...any) string {
	texts := make([]string, len(query))
	for i, q := range query {
		texts[i] = fmt.Sprint(q)
	}
	return p.apiPath(path, texts...)
}

// Signs are what there is to say of a monitor besides its status.
func (p *page) Signs(v belfry.MonitorView) (signs []chip) {
	s := v.State
	add := func(is bool, state, word string) {
		if is {
			c := newChip(state)
			if word != "" {
				c.Word = word
			}
			signs = append(signs, c)
		}
	}
	add(s.Verdict == belfry.VerdictConfirming, "confirming", fmt.Sprintf("failing %d×, not confirmed yet", s.Failures))
	add(s.Verdict == belfry.VerdictRecovering, "recovering", fmt.Sprintf("passing %d×, not confirmed yet", s.Passes))
	add(s.Degraded, "degraded", "")
	add(s.Slow, "slow", "")
	add(s.Flapping, "flapping", "")
	add(s.Stale, "stale", "")
	add(s.Maintenance != "", "maintenance", "maintenance "+s.Maintenance)
	add(v.Muted, "muted", "")
	return signs
}

// Target is what a monitor looks at, in a line.
func (p *page) Target(m belfry.Monitor) string { return targetText(m) }

func targetText(m belfry.Monitor) string {
	c := m.Check
	switch m.Kind() {
	case belfry.KindHeartbeat:
		return "waits to be called"
	case belfry.KindHTTP:
		if c.HTTP.Method != "GET" {
			return c.HTTP.Method + " " + c.HTTP.URL
		}
		return c.HTTP.URL
	case belfry.KindPage:
		return c.Page.URL
	case belfry.KindTCP:
		return c.TCP.Address
	case belfry.KindDNS:
		return c.DNS.Type + " of " + c.DNS.Name
	case belfry.KindTLS:
		return c.TLS.Address
	case belfry.KindPing:
		return c.Ping.Host
	case belfry.KindGRPC:
		return c.GRPC.Address
	case belfry.KindWebSocket:
		return c.WebSocket.URL
	case belfry.KindCommand:
		if c.Command.Shell != "" {
			return c.Command.Shell
		}
		return strings.Join(c.Command.Argv, " ")
	case belfry.KindProgram:
		return "an uploaded program"
	}
	return string(m.Kind())
}

// Latency is how long something took, if anybody measured it.
func (p *page) Latency(d belfry.Duration) string {
	if d == 0 {
		return "–"
	}
	return latencyText(d)
}

// MonitorNav leads to the pages about monitors.
func (p *page) MonitorNav() []tab {
	var tabs []tab
	for _, a := range []pair{{"Monitors", "monitors"}, {"Incidents", "incidents"}, {"Alerts", "alerts"}} {
		here := p.r.URL.Path == "/"+a.Value || strings.HasPrefix(p.r.URL.Path, "/"+a.Value+"/")
		tabs = append(tabs, newTab(a.Name, p.linkTo(a.Value), here, ""))
	}
	return tabs
}

// bulkMonitors is something to be done to many monitors: to those that are
// named, or to all that a filter finds.
type bulkMonitors struct {
	Do       string
	Names    []string // as namespace/name
	Filter   belfry.MonitorFilter
	All      bool // that the filter finds
	Monitors []belfry.MonitorView
	More     bool // there are more than can be done at once
	For      string
	Reason   string
	Fields   []field
	Err      error
	Left     []bulkLeft
	Done     int
}

// bulkLeft is a monitor that it was not done to.
type bulkLeft struct {
	Namespace, Name string
	Err             error
}

// Verb is what is done, as a button says it.
func (b bulkMonitors) Verb() string {
	return map[string]string{"pause": "Pause", "resume": "Resume", "check": "Check"}[b.Do]
}

// Said is what has been done.
func (b bulkMonitors) Said() string {
	return map[string]string{"pause": "paused", "resume": "resumed", "check": "being checked"}[b.Do]
}

const (
	maxBulkMonitors  = 500
	bulkMonitorsSpan = 20 * time.Second
)

func (p *page) readBulkMonitors(from url.Values) (b bulkMonitors, err error) {
	b = bulkMonitors{Do: from.Get("do"), Names: from["m"], All: from.Has("all"), For: from.Get("for"), Reason: from.Get("reason")}
	if b.Verb() == "" {
		return b, belfry.InvalidField("do", b.Do, "is nothing that can be done to many monitors", "one of pause, resume, check")
	}
	if !p.Can(belfry.ScopeOperate) {
		return b, belfry.Errorf(belfry.Forbidden, "your token may not %s monitors", b.Do).WithHint("it takes one with the scope operate")
	}
	b.Filter = belfry.MonitorFilter{
		Paging: belfry.Paging{Limit: maxBulkMonitors}, Namespace: p.Namespace,
		Status: belfry.Status(from.Get("status")), Kind: belfry.Kind(from.Get("kind")), Tag: from.Get("tag"), Search: from.Get("search"),
	}
	if !b.All && len(b.Names) == 0 {
		return b, belfry.InvalidField("m", "", "is missing: no monitor was selected", "go back and select some")
	}
	if len(b.Names) > maxBulkMonitors {
		return b, belfry.InvalidField("m", fmt.Sprint(len(b.Names)), fmt.Sprintf("are more than %d monitors", maxBulkMonitors), "")
	}
	return b, b.find(p)
}

func (b *bulkMonitors) find(p *page) error {
	if b.All {
		found, err := p.api.Monitors(p.r.Context(), b.Filter)
		b.Monitors, b.More = found.Items, found.Next != ""
		return err
	}
	for _, name := range b.Names {
		namespace, name, _ := strings.Cut(name, "/")
		v, err := p.api.Monitor(p.r.Context(), namespace, name)
		if err != nil {
			return err
		}
		b.Monitors = append(b.Monitors, v)
	}
	return nil
}

// fields are what somebody may say besides.
func (b *bulkMonitors) fields() {
	if b.Do == "pause" {
		b.Fields = pauseFields(b.For, b.Reason, b.Err)
	}
}

func pauseFields(span, reason string, err error) []field {
	return []field{
		newField("for", "For how long", "text", span, "Such as 2h or 3d. Empty: until it is resumed.", err),
		newField("reason", "Why", "text", reason, "Shown to everyone, and kept in the audit.", err),
	}
}

// monitorsDryRun shows which monitors it would be, and asks.
func monitorsDryRun(p *page) error {
	b, err := p.readBulkMonitors(p.r.URL.Query())
	if err != nil {
		return err
	}
	b.fields()
	return p.show("monitors-bulk", b)
}

// monitorsBulk does it to one after the other, and says to which it could not.
func monitorsBulk(p *page) error {
	if err := p.r.ParseForm(); err != nil {
		return belfry.Errorf(belfry.Invalid, "the form could not be read: %v", err)
	}
	b, err := p.readBulkMonitors(p.r.PostForm)
	if err != nil {
		return err
	}
	until, err := p.pausedUntil(b.For)
	if err != nil {
		b.Err = err
		b.fields()
		return p.again("monitors-bulk", b, err)
	}
	began := time.Now()
	for i, v := range b.Monitors {
		if time.Since(began) > bulkMonitorsSpan {
			for _, v := range b.Monitors[i:] {
				b.Left = append(b.Left, bulkLeft{v.Namespace, v.Name, belfry.Errorf(belfry.Unavailable, "there was no more time")})
			}
			break
		}
		if err := b.do(p, v, until); err != nil {
			b.Left = append(b.Left, bulkLeft{v.Namespace, v.Name, err})
			continue
		}
		b.Done++
	}
	if len(b.Left) == 0 {
		return p.done(p.Link("monitors"), "%s %s.", countOf(b.Done, "monitor is", "monitors are"), b.Said())
	}
	b.Monitors = nil
	return p.show("monitors-bulk", b)
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return numberText(n) + " " + many
}

func (b *bulkMonitors) do(p *page, v belfry.MonitorView, until time.Time) (err error) {
	ctx := p.r.Context()
	switch b.Do {
	case "pause":
		_, err = p.api.PauseMonitor(ctx, v.Namespace, v.Name, until, b.Reason)
	case "resume":
		_, err = p.api.ResumeMonitor(ctx, v.Namespace, v.Name)
	default:
		_, err = p.api.CheckMonitor(ctx, v.Namespace, v.Name)
	}
	return err
}

// Command is the same by the command line, as far as the command line takes
// names.
func (p *page) BulkMonitorsCommand(b bulkMonitors) command {
	words := []string{"monitor", b.Do}
	name := "NAME"
	for _, v := range b.Monitors[:min(len(b.Monitors), 20)] {
		words = append(words, v.Name)
		name = v.Name
	}
	return p.Command("POST", p.apiPath("/v1/monitors/"+name+"/"+b.Do), "", words...)
}

// pausedUntil is the end of a pause that lasts so long from now on.
func (p *page) pausedUntil(span string) (until time.Time, err error) {
	if span = strings.TrimSpace(span); span == "" {
		return until, nil
	}
	d, err := belfry.ParseDuration(span)
	if err != nil || d <= 0 {
		return until, belfry.InvalidField("for", span, "is not a length of time", "such as 2h or 3d")
	}
	return p.Now.Add(d.D()), nil
}

func pauseMonitor(p *page) error {
	until, err := p.pausedUntil(p.r.PostFormValue("for"))
	if err != nil {
		return err
	}
	v, err := p.api.PauseMonitor(p.r.Context(), p.Namespace, p.r.PathValue("name"), until, p.r.PostFormValue("reason"))
	if err != nil {
		return err
	}
	return p.done(p.Link("monitors", v.Name), "Monitor %s is paused.", v.Name)
}

func resumeMonitor(p *page) error {
	v, err := p.api.ResumeMonitor(p.r.Context(), p.Namespace, p.r.PathValue("name"))
	if err != nil {
		return err
	}
	return p.done(p.Link("monitors", v.Name), "Monitor %s goes on. Its next check says how its target is.", v.Name)
}

func checkMonitor(p *page) error {
	name := p.r.PathValue("name")
	j, err := p.api.CheckMonitor(p.r.Context(), p.Namespace, name)
	if err != nil {
		return err
	}
	return p.done(p.Link("monitors", name), "Monitor %s is being checked, as job %d. The result shows up here.", name, j.ID)
}

func deleteMonitor(p *page) error {
	name := p.r.PathValue("name")
	if err := p.api.DeleteMonitor(p.r.Context(), p.Namespace, name); err != nil {
		return err
	}
	return p.done(p.Link("monitors"), "Monitor %s is deleted. Its incidents are kept.", name)
}

// PauseMonitor asks before a monitor is paused.
func (p *page) PauseMonitor(v belfry.MonitorView) confirm {
	body, _ := json.Marshal(map[string]string{"for": "2h", "reason": "why"}) // plain words
	cmd := p.Command("POST", p.apiPath("/v1/monitors/"+url.PathEscape(v.Name)+"/pause"), string(body), "monitor", "pause", v.Name, "--for", "2h", "--reason", "why")
	return confirm{
		ID: "pause", Button: "Pause", Title: "Pause monitor " + v.Name + "?",
		Text:   "It is not checked, and nobody is told anything. The time does not count for its uptime, and an outage that is under way ends.",
		Action: p.Link("monitors", v.Name, "pause"), Fields: pauseFields("", "", nil), Cmd: &cmd,
	}
}

// DeleteMonitor asks before a monitor is deleted.
func (p *page) DeleteMonitor(v belfry.MonitorView) confirm {
	cmd := p.Command("DELETE", p.apiPath("/v1/monitors/"+url.PathEscape(v.Name)), "", "monitor", "delete", v.Name)
	return confirm{
		ID: "delete", Button: "Delete", Danger: true, Title: "Delete monitor " + v.Name + "?",
		Text:   "Its results, its uptime and the versions of its page are gone then, for good. Its incidents are kept.",
		Action: p.Link("monitors", v.Name, "delete"), Cmd: &cmd,
	}
}

// MonitorCommand is an action on a monitor, without this page.
func (p *page) MonitorCommand(name, verb string) command {
	return p.Command("POST", p.apiPath("/v1/monitors/"+url.PathEscape(name)+"/"+verb), "", "monitor", verb, name)
}

// uptimeBars is the part "uptime": how a target was lately.
type uptimeBars struct {
	Label  string
	Ratio  string // up, in words
	Seen   string // coverage, in words; empty when all of it was seen
	P95    belfry.Duration
	Rects  []uptimeRect
	Width  int
	Height int
	None   bool
}

// uptimeRect is a piece of a bar. What colour tells, shape tells too: up is a
// whole bar, downtime hangs from the top, and nothing known is a stub.
type uptimeRect struct {
	Class   string
	X, Y, H int
	Title   string
}

const (
	uptimeHeight = 28
	uptimeStep   = 5
)

func newUptimeBars(b belfry.MonitorBars) uptimeBars {
	u := uptimeBars{P95: b.P95, Width: max(len(b.Bars)*uptimeStep-1, 1), Height: uptimeHeight, Ratio: upText(b.Ratio), None: b.Ratio == nil}
	if !u.None && b.Coverage < 0.9995 {
		u.Seen = coverText(b.Coverage) + " seen"
	}
	span := "last 90 days"
	if b.Step.D() < 24*time.Hour {
		span = "last 24 hours"
	}
	u.Label = fmt.Sprintf("%s, %s: %s", b.Monitor, span, u.Ratio)
	if !u.None {
		u.Label += fmt.Sprintf(", %s, %s of the time seen", countOf(b.Outages, "outage", "outages"), coverText(b.Coverage))
	}
	for i, bar := range b.Bars {
		u.add(i*uptimeStep, bar, b.Step)
	}
	return u
}

func (u *uptimeBars) add(x int, b belfry.UptimeBar, step belfry.Duration) {
	layout := "Mon 2 Jan"
	if step.D() < 24*time.Hour {
		layout = "15:04"
	}
	title := b.From.UTC().Format(layout) + " UTC: "
	rect := func(class string, y, h int) {
		u.Rects = append(u.Rects, uptimeRect{class, x, y, h, title})
	}
	switch {
	case b.Ratio == nil && b.Maintenance > 0:
		title += "maintenance"
		rect("busy", uptimeHeight-10, 10)
	case b.Ratio == nil && b.Paused > 0:
		title += "paused"
		rect("none", uptimeHeight-4, 4)
	case b.Ratio == nil:
		title += "nobody looked"
		rect("none", uptimeHeight-4, 4)
	case b.Down == 0:
		title += "up" + seenText(b)
		rect("good", 0, uptimeHeight)
	default:
		title += fmt.Sprintf("%s up, down %s%s", upText(b.Ratio), spanText(b.Down), seenText(b))
		hang := 8 + int(float64(uptimeHeight-14)*(1-*b.Ratio))
		rect("bad", 0, hang)
		if *b.Ratio > 0 {
			rect("good", hang+2, uptimeHeight-hang-2)
		}
	}
}

func seenText(b belfry.UptimeBar) string {
	if b.Coverage >= 0.9995 {
		return ""
	}
	return ", " + coverText(b.Coverage) + " of it seen"
}

// coverText writes how much of a time was seen, where hardly any is not none.
func coverText(coverage float64) string {
	if coverage > 0 && coverage < 0.01 {
		return "under 1 %"
	}
	return percentText(coverage)
}

// upText writes an uptime with three places, cut off: what was down for a
// moment is not all up.
func upText(ratio *float64) string {
	if ratio == nil {
		return "no data"
	}
	if *ratio >= 1 {
		return "100 %"
	}
	text := fmt.Sprintf("%.3f", float64(int(*ratio*100_000))/1000)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + " %"
}

// sortedKeys lists the names of a map in their order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
