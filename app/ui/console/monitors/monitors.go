package monitors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type monitorsAPI interface {
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error)
	Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error)
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (view.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	CheckMonitor(ctx context.Context, namespace, name string) (job.Job, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Uptime(ctx context.Context, namespace, monitor string) (view.UptimeReport, error)
	Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error)
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]monitor.Span, error)
	Results(ctx context.Context, f view.ResultFilter) (core.Page[view.MonitorResult], error)
}

var monitorRoutes = routes{
	"GET /monitors":                 monitorList,
	"GET /monitors/-bulk":           monitorsDryRun,
	"POST /monitors/-bulk":          monitorsBulk,
	"GET /monitors/{name}":          monitorPage,
	"GET /monitors/{name}/results":  monitorResults,
	"GET /monitors/{name}/alerts":   monitorAlerts,
	"GET /monitors/{name}/settings": monitorSettings,
	"POST /monitors/{name}/pause":   pauseMonitor,
	"POST /monitors/{name}/resume":  resumeMonitor,
	"POST /monitors/{name}/check":   checkMonitor,
	"POST /monitors/{name}/delete":  deleteMonitor,
}

// monitorKinds are those that a monitor may have, in the order of the form.
var monitorKinds = func() (list []task.Kind) {
	for _, k := range task.MonitorKinds() {
		list = append(list, k.Kind)
	}
	return list
}()

// monitorsPerPage is so few because each has its bars.
const monitorsPerPage = 25

type monitorsData struct {
	Filter   view.MonitorFilter
	Monitors core.Page[view.MonitorView]
	Count    view.MonitorCount
	Bars     map[string]monitor.Bars // by namespace and name
	View     string                  // list or grid
	Span     monitor.BarSpan
	Asked    bool // the span was chosen
	Grouped  bool // by tag
	Now      time.Time
}

// Fresh reports that there is no monitor, and no search for one.
func (d monitorsData) Fresh() bool { return len(d.Monitors.Items) == 0 && !d.Filtered() }

// Filtered reports that not all monitors are asked for.
func (d monitorsData) Filtered() bool {
	f := d.Filter
	return f.Status != "" || f.Kind != "" || f.Tag != "" || f.Search != "" || f.Cursor != ""
}

func (p *page) monitorFilter() view.MonitorFilter {
	return view.MonitorFilter{
		Paging: core.Paging{Limit: monitorsPerPage, Cursor: p.Query("cursor")}, Namespace: p.Namespace,
		Status: monitor.Status(p.Query("status")), Kind: task.Kind(p.Query("kind")), Tag: p.Query("tag"), Search: strings.TrimSpace(p.Query("search")),
	}
}

func monitorList(p *page) error {
	d := monitorsData{Filter: p.monitorFilter(), View: "list", Now: p.Now, Grouped: p.Query("group") == "tag"}
	if p.Query("view") == "grid" {
		d.View = "grid"
	}
	ctx, counted := p.R.Context(), d.Filter
	counted.Status, counted.Paging = "", core.Paging{}
	err := frame.Together(
		frame.Get(&d.Monitors, func() (core.Page[view.MonitorView], error) { return p.api.Monitors(ctx, d.Filter) }),
		frame.Get(&d.Count, func() (view.MonitorCount, error) { return p.api.CountMonitors(ctx, counted) }),
	)
	if err != nil {
		return err
	}
	if err := p.worstFirst(&d); err != nil {
		return err
	}
	d.Span = d.usualSpan()
	if asked := monitor.BarSpan(p.Query("span")); asked == monitor.BarsDay || asked == monitor.BarsQuarter {
		d.Span, d.Asked = asked, true
	}
	if d.Bars, err = p.barsOf(d.Monitors.Items, d.Span); err != nil {
		return err
	}
	return p.Show("monitors", d)
}

// worstFirst puts the monitors that are down before all others, on the first page and on no other. Where more are down
// than a page holds the list stays as it is: they have a view of their own.
func (p *page) worstFirst(d *monitorsData) error {
	if down := d.Count.Statuses[monitor.StatusDown]; d.Filter.Status != "" || down == 0 || down > monitorsPerPage || d.Count.More {
		return nil
	}
	f := d.Filter
	f.Status, f.Cursor = monitor.StatusDown, ""
	worst, err := p.api.Monitors(p.R.Context(), f)
	if err != nil {
		return err
	}
	shown := map[string]bool{}
	for _, v := range worst.Items {
		shown[v.Namespace+"/"+v.Name] = true
	}
	first := d.Filter.Cursor == ""
	for {
		d.Monitors.Items = slices.DeleteFunc(d.Monitors.Items, func(v view.MonitorView) bool { return shown[v.Namespace+"/"+v.Name] })
		if len(d.Monitors.Items) > 0 || d.Monitors.Next == "" {
			break
		}
		next := d.Filter // all of this page stand on the first one
		next.Cursor = d.Monitors.Next
		if d.Monitors, err = p.api.Monitors(p.R.Context(), next); err != nil {
			return err
		}
	}
	if first {
		d.Monitors.Items = append(worst.Items, d.Monitors.Items...)
	}
	return nil
}

// barsOf reads the bars of monitors, one call for each of their namespaces.
func (p *page) barsOf(all []view.MonitorView, span monitor.BarSpan) (map[string]monitor.Bars, error) {
	names := map[string][]string{}
	for _, v := range all {
		names[v.Namespace] = append(names[v.Namespace], v.Name)
	}
	found := map[string]monitor.Bars{}
	for namespace, list := range names {
		bars, err := p.api.Bars(p.R.Context(), monitor.BarsQuery{Namespace: namespace, Monitors: list, Span: span})
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
func (d monitorsData) BarsOf(v view.MonitorView) uptimeBars {
	return newUptimeBars(fewer(d.Bars[v.Namespace+"/"+v.Name], d.Now), v.CreatedAt, d.Now)
}

// usualSpan is the span of the bars of the oldest monitor of the list.
func (d monitorsData) usualSpan() monitor.BarSpan {
	var oldest time.Duration
	for _, v := range d.Monitors.Items {
		oldest = max(oldest, d.Now.Sub(v.CreatedAt))
	}
	return barsFor(oldest)
}

// StatusTabs are the views of the list: all monitors, and those in each status.
func (p *page) StatusTabs(d monitorsData) []parts.Tab {
	count := func(n int) string {
		if d.Count.More {
			return parts.NumberText(n) + "+"
		}
		return parts.NumberText(n)
	}
	at := d.Filter.Status
	all := []parts.Tab{parts.NewTab("All", p.Here("status", "", "cursor", ""), at == "", count(d.Count.Count))}
	for _, s := range []monitor.Status{monitor.StatusUp, monitor.StatusDown, monitor.StatusPaused, monitor.StatusNew} {
		all = append(all, parts.NewTab(parts.SentenceCase(string(s)), p.Here("status", s, "cursor", ""), at == s, count(d.Count.Statuses[s])))
	}
	return all
}

// MonitorsCommand is the list, without this page.
func (p *page) MonitorsCommand(d monitorsData) parts.Command {
	words := []string{"monitor", "list"}
	var query []any
	for _, f := range [][2]string{{"status", string(d.Filter.Status)}, {"kind", string(d.Filter.Kind)}, {"tag", d.Filter.Tag}, {"search", d.Filter.Search}} {
		if f[1] != "" {
			query = append(query, f[0], f[1])
			words = append(words, "--"+f[0], f[1])
		}
	}
	return p.Command("GET", p.APIPath("/v1/monitors", query...), "", words...)
}

// signs are the marks of a monitor besides its status.
func signs(v view.MonitorView) (signs []parts.Chip) {
	s := v.State
	add := func(is bool, state, word string) {
		if is {
			c := parts.NewChip(state)
			if word != "" {
				c.Word = word
			}
			signs = append(signs, c)
		}
	}
	add(s.Verdict == monitor.VerdictConfirming, "confirming", fmt.Sprintf("failing %d×, not confirmed yet", s.Failures))
	add(s.Verdict == monitor.VerdictRecovering, "recovering", fmt.Sprintf("passing %d×, not confirmed yet", s.Passes))
	add(s.Degraded, "degraded", "")
	add(s.Slow, "slow", "")
	add(s.Flapping, "flapping", "")
	add(s.Stale, "stale", "")
	add(s.Unstable, "unstable", "")
	add(s.Maintenance != "", "maintenance", "maintenance "+s.Maintenance)
	add(v.Muted, "muted", "")
	return signs
}

// tagsOfRow is how many tags of a monitor its row shows: more would hide its other columns.
const tagsOfRow = 3

func fewTags(tags []string) []string { return tags[:min(len(tags), tagsOfRow)] }

// otherTags are those that a row leaves out, as its title says them.
func otherTags(tags []string) string { return strings.Join(tags[min(len(tags), tagsOfRow):], ", ") }

func targetText(m monitor.Monitor) string {
	if m.Heartbeat != nil {
		return "waits to be called"
	}
	return core.Or(m.Check.Target().Line, string(m.Kind()))
}

// shortTarget is the target without the parts that nearly all targets have.
func shortTarget(m monitor.Monitor) string {
	return parts.Short(80, strings.TrimSuffix(strings.TrimPrefix(targetText(m), "https://"), "/"))
}

// latencyOrNone is how long something took, if anybody measured it.
func latencyOrNone(d core.Duration) string {
	if d == 0 {
		return "–"
	}
	return parts.LatencyText(d)
}
