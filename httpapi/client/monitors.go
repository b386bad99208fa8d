package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// MonitorCalls are the calls about monitors, incidents, maintenance windows and status pages.
type MonitorCalls struct{ server *server }

// SaveWindow implements [httpapi.Windows].
func (c MonitorCalls) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return saved(ctx, c.server, windowNoun, d.Name, d)
}

// DeleteWindow implements [httpapi.Windows].
func (c MonitorCalls) DeleteWindow(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, windowNoun, namespace, name)
}

// Window implements [httpapi.Windows].
func (c MonitorCalls) Window(ctx context.Context, namespace, name string) (monitor.Window, error) {
	return shown[monitor.Window](ctx, c.server, windowNoun, namespace, name)
}

// Windows implements [httpapi.Windows].
func (c MonitorCalls) Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error) {
	return listed[monitor.Window](ctx, c.server, windowNoun, f)
}

// WindowNext returns up to n occurrences of a window that end after from. A zero
// from means the current time of the server. It is not part of [httpapi.Service]:
// package belfry computes them.
func (c MonitorCalls) WindowNext(ctx context.Context, namespace, name string, from time.Time, n int) ([]monitor.ActiveWindow, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return items[monitor.ActiveWindow](ctx, c.server, named(windowNoun, name, "next"), words("namespace", namespace, "from", timeText(from), "n", numberText(n)))
}

// PreviewWindow is [MonitorCalls.WindowNext] for an unsaved window.
func (c MonitorCalls) PreviewWindow(ctx context.Context, d monitor.Window, from time.Time, n int) ([]monitor.ActiveWindow, error) {
	var l wire.OccasionList
	err := c.server.do(ctx, ask{
		method: http.MethodPost, path: "/v1/" + windowNoun + "/preview", query: words("from", timeText(from), "n", numberText(n)), body: d, again: true,
	}, &l)
	return l.Items, err
}

// SaveStatusPage implements [httpapi.StatusPages].
func (c MonitorCalls) SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error) {
	return saved(ctx, c.server, statusPageNoun, d.Name, d)
}

// DeleteStatusPage implements [httpapi.StatusPages].
func (c MonitorCalls) DeleteStatusPage(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, statusPageNoun, namespace, name)
}

// StatusPage implements [httpapi.StatusPages].
func (c MonitorCalls) StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error) {
	return shown[public.StatusPage](ctx, c.server, statusPageNoun, namespace, name)
}

// StatusPages implements [httpapi.StatusPages].
func (c MonitorCalls) StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error) {
	return listed[public.StatusPage](ctx, c.server, statusPageNoun, f)
}

// CreateMonitor implements [httpapi.Monitors].
func (c MonitorCalls) CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error) {
	return put[view.MonitorView](ctx, c.server, http.MethodPost, "/v1/monitors", nil, m)
}

// UpdateMonitor implements [httpapi.Monitors].
func (c MonitorCalls) UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error) {
	if err := checked("name", m.Name); err != nil {
		return view.MonitorView{}, err
	}
	return put[view.MonitorView](ctx, c.server, http.MethodPut, named("monitors", m.Name), nil, m)
}

// DeleteMonitor implements [httpapi.Monitors].
func (c MonitorCalls) DeleteMonitor(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, "monitors", namespace, name)
}

// Monitor implements [httpapi.Monitors].
func (c MonitorCalls) Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error) {
	return about[view.MonitorView](ctx, c.server, name, "", words("namespace", namespace))
}

// about reads a monitor, or a part of its data.
func about[T any](ctx context.Context, c *server, monitor, part string, query url.Values) (T, error) {
	if err := checked("monitor", monitor); err != nil {
		var zero T
		return zero, err
	}
	path := named("monitors", monitor)
	if part != "" {
		path += "/" + part
	}
	return get[T](ctx, c, path, query)
}

// Monitors implements [httpapi.Monitors].
func (c MonitorCalls) Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error) {
	return get[core.Page[view.MonitorView]](ctx, c.server, "/v1/monitors",
		paged(f.Paging, monitorQuery(f)))
}

// CountMonitors implements [httpapi.Monitors].
func (c MonitorCalls) CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error) {
	return get[view.MonitorCount](ctx, c.server, "/v1/monitor-counts", monitorQuery(f))
}

func monitorQuery(f view.MonitorFilter) url.Values {
	return words("namespace", f.Namespace, "status", string(f.Status), "kind", string(f.Kind), "tag", f.Tag, "search", f.Search)
}

// Bars implements [httpapi.Monitors].
func (c MonitorCalls) Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error) {
	return items[monitor.Bars](ctx, c.server, "/v1/monitor-bars", words("namespace", q.Namespace, "monitor", strings.Join(q.Monitors, ","), "span", string(q.Span)))
}

// PauseMonitor implements [httpapi.Monitors].
func (c MonitorCalls) PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (view.MonitorView, error) {
	return toMonitor[view.MonitorView](ctx, c.server, namespace, name, "pause", wire.PauseOptions{Until: until, Reason: reason})
}

// ResumeMonitor implements [httpapi.Monitors].
func (c MonitorCalls) ResumeMonitor(ctx context.Context, namespace, name string) (view.MonitorView, error) {
	return toMonitor[view.MonitorView](ctx, c.server, namespace, name, "resume", nil)
}

// CheckMonitor implements [httpapi.Monitors].
func (c MonitorCalls) CheckMonitor(ctx context.Context, namespace, name string) (job.Job, error) {
	return toMonitor[job.Job](ctx, c.server, namespace, name, "check", nil)
}

func toMonitor[T any](ctx context.Context, c *server, namespace, monitor, verb string, body any) (T, error) {
	if err := checked("monitor", monitor); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPost, named("monitors", monitor)+"/"+verb, words("namespace", namespace), body)
}

// Results implements [httpapi.Monitors].
func (c MonitorCalls) Results(ctx context.Context, f view.ResultFilter) (core.Page[view.MonitorResult], error) {
	return about[core.Page[view.MonitorResult]](ctx, c.server, f.Monitor, "results", paged(f.Paging, words(
		"namespace", f.Namespace, "outcome", string(f.Outcome), "since", timeText(f.Since), "until", timeText(f.Until))))
}

// Series implements [httpapi.Monitors].
func (c MonitorCalls) Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error) {
	p, err := about[wire.PointList](ctx, c.server, q.Monitor, "series", words(
		"namespace", q.Namespace, "from", timeText(q.From), "to", timeText(q.To), "step", spanText(q.Step.D())))
	return p.Items, err
}

// Uptime implements [httpapi.Monitors].
func (c MonitorCalls) Uptime(ctx context.Context, namespace, monitor string) (view.UptimeReport, error) {
	return about[view.UptimeReport](ctx, c.server, monitor, "uptime", words("namespace", namespace))
}

// Timeline implements [httpapi.Monitors].
func (c MonitorCalls) Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]monitor.Span, error) {
	l, err := about[wire.SpanList](ctx, c.server, monitor, "timeline", words("namespace", namespace, "from", timeText(from)))
	return l.Items, err
}

// Incidents implements [httpapi.Monitors].
func (c MonitorCalls) Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error) {
	query := words("namespace", f.Namespace, "monitor", f.Monitor)
	if f.Assigned != "" {
		query.Set("assigned", f.Assigned)
	}
	if f.Open {
		query.Set("open", "true")
	}
	if f.Over {
		query.Set("over", "true")
	}
	return get[core.Page[monitor.Incident]](ctx, c.server, "/v1/incidents", paged(f.Paging, query))
}

// Incident implements [httpapi.Monitors].
func (c MonitorCalls) Incident(ctx context.Context, namespace string, id int64) (monitor.Incident, error) {
	return get[monitor.Incident](ctx, c.server, numbered("incidents", id), words("namespace", namespace))
}

// AcknowledgeIncident implements [httpapi.Monitors].
func (c MonitorCalls) AcknowledgeIncident(ctx context.Context, namespace string, id int64, note string) (monitor.Incident, error) {
	return toIncident[monitor.Incident](ctx, c.server, namespace, id, "acknowledge", wire.AcknowledgeOptions{Note: note})
}

// UnacknowledgeIncident implements [httpapi.Monitors].
func (c MonitorCalls) UnacknowledgeIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error) {
	return toIncident[monitor.Incident](ctx, c.server, namespace, id, "unacknowledge", nil)
}

// AssignIncident implements [httpapi.Monitors].
func (c MonitorCalls) AssignIncident(ctx context.Context, namespace string, id int64, to string) (monitor.Incident, error) {
	return toIncident[monitor.Incident](ctx, c.server, namespace, id, "assign", wire.AssignOptions{To: to})
}

// UnassignIncident implements [httpapi.Monitors].
func (c MonitorCalls) UnassignIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error) {
	return toIncident[monitor.Incident](ctx, c.server, namespace, id, "unassign", nil)
}

// UpdateIncident implements [httpapi.Monitors].
func (c MonitorCalls) UpdateIncident(ctx context.Context, namespace string, id int64, u monitor.Update) (monitor.Update, error) {
	return toIncident[monitor.Update](ctx, c.server, namespace, id, "updates", u)
}

func toIncident[T any](ctx context.Context, c *server, namespace string, id int64, verb string, body any) (T, error) {
	return put[T](ctx, c, http.MethodPost, numbered("incidents", id)+"/"+verb, words("namespace", namespace), body)
}

// PageVersions implements [httpapi.Monitors].
func (c MonitorCalls) PageVersions(ctx context.Context, f view.VersionFilter) (core.Page[monitor.PageVersion], error) {
	return about[core.Page[monitor.PageVersion]](ctx, c.server, f.Monitor, "versions", paged(f.Paging, words("namespace", f.Namespace)))
}

// PageVersion implements [httpapi.Monitors].
func (c MonitorCalls) PageVersion(ctx context.Context, namespace, m string, seq int64) (monitor.PageVersion, error) {
	return about[monitor.PageVersion](ctx, c.server, m, "versions/"+wire.VersionText(seq), words("namespace", namespace))
}

// AcceptPage implements [httpapi.Monitors].
func (c MonitorCalls) AcceptPage(ctx context.Context, namespace, m string, seq int64) (monitor.PageVersion, error) {
	return toMonitor[monitor.PageVersion](ctx, c.server, namespace, m, "versions/"+wire.VersionText(seq)+"/accept", nil)
}

// PageDiff returns the difference between two versions of a page, by their numbers
// as in PageVersion. The server compares them. It is not part of
// [httpapi.Service].
func (c MonitorCalls) PageDiff(ctx context.Context, namespace, monitor string, from, to int64) (wire.PageDiff, error) {
	return about[wire.PageDiff](ctx, c.server, monitor, "diff", words("namespace", namespace, "from", wire.VersionText(from), "to", wire.VersionText(to)))
}

// LastChange compares the newest version of a page with its baseline, or, if these
// are the same, with the previous version.
func (c MonitorCalls) LastChange(ctx context.Context, namespace, monitor string) (wire.PageDiff, error) {
	return about[wire.PageDiff](ctx, c.server, monitor, "diff", words("namespace", namespace))
}

// Beat implements [httpapi.Monitors]. It needs no token. It is repeated if the server
// cannot be reached: a call that arrives twice does less harm than a missing one.
func (c MonitorCalls) Beat(ctx context.Context, key string, call monitor.Call) (view.Beaten, error) {
	path := wire.BeatPrefix + url.PathEscape(key)
	said := string(cmp.Or(call.Kind, monitor.CallSuccess))
	if call.ExitCode != nil && (said == string(monitor.CallSuccess) || call.Kind == monitor.CallFail && *call.ExitCode != 0) {
		said = strconv.Itoa(*call.ExitCode)
	}
	var out view.Beaten
	err := c.server.do(ctx, ask{
		method: http.MethodPost, path: path + "/" + said, query: words("rid", call.RunID),
		body: bodyText{"text/plain; charset=utf-8", []byte(call.Message)}, again: true,
	}, &out)
	return out, err
}

// Try checks a target once, on a worker. It is not part of [httpapi.Service].
func (c MonitorCalls) Try(ctx context.Context, t wire.Trial) (wire.Tried, error) {
	var out wire.Tried
	err := c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/checks/try", body: t, timeout: wire.TrialTimeout + 30*time.Second}, &out)
	return out, err
}
