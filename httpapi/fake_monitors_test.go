package httpapi

import (
	"context"
	"time"

	"github.com/belfry-run/belfry"
)

// What a [fake] answers about monitors and who is told of them. It is every
// ability that a node may have besides.
var (
	_ Prober   = (*fake)(nil)
	_ Notifier = (*fake)(nil)
	_ Secrets  = (*fake)(nil)
)

func (f *fake) CreateMonitor(ctx context.Context, m belfry.Monitor) (belfry.MonitorView, error) {
	return reply[belfry.MonitorView](ctx, f, "CreateMonitor", m)
}
func (f *fake) UpdateMonitor(ctx context.Context, m belfry.Monitor) (belfry.MonitorView, error) {
	return reply[belfry.MonitorView](ctx, f, "UpdateMonitor", m)
}
func (f *fake) DeleteMonitor(ctx context.Context, ns, name string) error {
	return only(reply[none](ctx, f, "DeleteMonitor", ns, name))
}
func (f *fake) Monitor(ctx context.Context, ns, name string) (belfry.MonitorView, error) {
	return reply[belfry.MonitorView](ctx, f, "Monitor", ns, name)
}
func (f *fake) Monitors(ctx context.Context, q belfry.MonitorFilter) (belfry.Page[belfry.MonitorView], error) {
	return reply[belfry.Page[belfry.MonitorView]](ctx, f, "Monitors", q)
}
func (f *fake) CountMonitors(ctx context.Context, q belfry.MonitorFilter) (belfry.MonitorCount, error) {
	return reply[belfry.MonitorCount](ctx, f, "CountMonitors", q)
}
func (f *fake) Bars(ctx context.Context, q belfry.BarsQuery) ([]belfry.MonitorBars, error) {
	return reply[[]belfry.MonitorBars](ctx, f, "Bars", q)
}
func (f *fake) PauseMonitor(ctx context.Context, ns, name string, until time.Time, reason string) (belfry.MonitorView, error) {
	return reply[belfry.MonitorView](ctx, f, "PauseMonitor", ns, name, until, reason)
}
func (f *fake) ResumeMonitor(ctx context.Context, ns, name string) (belfry.MonitorView, error) {
	return reply[belfry.MonitorView](ctx, f, "ResumeMonitor", ns, name)
}
func (f *fake) CheckMonitor(ctx context.Context, ns, name string) (belfry.Job, error) {
	return reply[belfry.Job](ctx, f, "CheckMonitor", ns, name)
}
func (f *fake) Results(ctx context.Context, q belfry.ResultFilter) (belfry.Page[belfry.CheckResult], error) {
	return reply[belfry.Page[belfry.CheckResult]](ctx, f, "Results", q)
}
func (f *fake) Series(ctx context.Context, q belfry.SeriesQuery) (belfry.Series, error) {
	return reply[belfry.Series](ctx, f, "Series", q)
}
func (f *fake) Uptime(ctx context.Context, ns, name string) (belfry.UptimeReport, error) {
	return reply[belfry.UptimeReport](ctx, f, "Uptime", ns, name)
}
func (f *fake) Timeline(ctx context.Context, ns, name string, from time.Time) ([]belfry.Span, error) {
	return reply[[]belfry.Span](ctx, f, "Timeline", ns, name, from)
}
func (f *fake) Incidents(ctx context.Context, q belfry.IncidentFilter) (belfry.Page[belfry.Incident], error) {
	return reply[belfry.Page[belfry.Incident]](ctx, f, "Incidents", q)
}
func (f *fake) Incident(ctx context.Context, ns string, id int64) (belfry.Incident, error) {
	return reply[belfry.Incident](ctx, f, "Incident", ns, id)
}
func (f *fake) PageVersions(ctx context.Context, q belfry.VersionFilter) (belfry.Page[belfry.PageVersion], error) {
	return reply[belfry.Page[belfry.PageVersion]](ctx, f, "PageVersions", q)
}
func (f *fake) PageVersion(ctx context.Context, ns, name string, seq int64) (belfry.PageVersion, error) {
	return reply[belfry.PageVersion](ctx, f, "PageVersion", ns, name, seq)
}
func (f *fake) AcceptPage(ctx context.Context, ns, name string, seq int64) (belfry.PageVersion, error) {
	return reply[belfry.PageVersion](ctx, f, "AcceptPage", ns, name, seq)
}
func (f *fake) Beat(ctx context.Context, key string, call belfry.Call) (belfry.Beaten, error) {
	return reply[belfry.Beaten](ctx, f, "Beat", key, call)
}
func (f *fake) SaveChannel(ctx context.Context, d belfry.Channel) (belfry.Channel, error) {
	return reply[belfry.Channel](ctx, f, "SaveChannel", d)
}
func (f *fake) DeleteChannel(ctx context.Context, ns, name string) error {
	return only(reply[none](ctx, f, "DeleteChannel", ns, name))
}
func (f *fake) Channel(ctx context.Context, ns, name string) (belfry.Channel, error) {
	return reply[belfry.Channel](ctx, f, "Channel", ns, name)
}
func (f *fake) Channels(ctx context.Context, q belfry.DocumentFilter) (belfry.Page[belfry.Channel], error) {
	return reply[belfry.Page[belfry.Channel]](ctx, f, "Channels", q)
}
func (f *fake) SaveAlertRule(ctx context.Context, d belfry.AlertRule) (belfry.AlertRule, error) {
	return reply[belfry.AlertRule](ctx, f, "SaveAlertRule", d)
}
func (f *fake) DeleteAlertRule(ctx context.Context, ns, name string) error {
	return only(reply[none](ctx, f, "DeleteAlertRule", ns, name))
}
func (f *fake) AlertRule(ctx context.Context, ns, name string) (belfry.AlertRule, error) {
	return reply[belfry.AlertRule](ctx, f, "AlertRule", ns, name)
}
func (f *fake) AlertRules(ctx context.Context, q belfry.DocumentFilter) (belfry.Page[belfry.AlertRule], error) {
	return reply[belfry.Page[belfry.AlertRule]](ctx, f, "AlertRules", q)
}
func (f *fake) SaveWindow(ctx context.Context, d belfry.Window) (belfry.Window, error) {
	return reply[belfry.Window](ctx, f, "SaveWindow", d)
}
func (f *fake) DeleteWindow(ctx context.Context, ns, name string) error {
	return only(reply[none](ctx, f, "DeleteWindow", ns, name))
}
func (f *fake) Window(ctx context.Context, ns, name string) (belfry.Window, error) {
	return reply[belfry.Window](ctx, f, "Window", ns, name)
}
func (f *fake) Windows(ctx context.Context, q belfry.DocumentFilter) (belfry.Page[belfry.Window], error) {
	return reply[belfry.Page[belfry.Window]](ctx, f, "Windows", q)
}
func (f *fake) SaveStatusPage(ctx context.Context, d belfry.StatusPage) (belfry.StatusPage, error) {
	return reply[belfry.StatusPage](ctx, f, "SaveStatusPage", d)
}
func (f *fake) DeleteStatusPage(ctx context.Context, ns, name string) error {
	return only(reply[none](ctx, f, "DeleteStatusPage", ns, name))
}
func (f *fake) StatusPage(ctx context.Context, ns, name string) (belfry.StatusPage, error) {
	return reply[belfry.StatusPage](ctx, f, "StatusPage", ns, name)
}
func (f *fake) StatusPages(ctx context.Context, q belfry.DocumentFilter) (belfry.Page[belfry.StatusPage], error) {
	return reply[belfry.Page[belfry.StatusPage]](ctx, f, "StatusPages", q)
}
func (f *fake) Alerts(ctx context.Context, q belfry.AlertFilter) (belfry.Page[belfry.Alert], error) {
	return reply[belfry.Page[belfry.Alert]](ctx, f, "Alerts", q)
}
func (f *fake) AlertTries(ctx context.Context, ns string, id int64) ([]belfry.AlertTry, error) {
	return reply[[]belfry.AlertTry](ctx, f, "AlertTries", ns, id)
}
func (f *fake) ChannelSecrets(ctx context.Context, ns, name string) (belfry.Channel, error) {
	return reply[belfry.Channel](ctx, f, "ChannelSecrets", ns, name)
}
func (f *fake) CheckOf(ctx context.Context, ns, name string) (belfry.Task, error) {
	return reply[belfry.Task](ctx, f, "CheckOf", ns, name)
}
func (f *fake) Try(ctx context.Context, t belfry.Task) (belfry.Measure, error) {
	return reply[belfry.Measure](ctx, f, "Try", t)
}
func (f *fake) Preview(ctx context.Context, t belfry.Task) (PagePreview, error) {
	return reply[PagePreview](ctx, f, "Preview", t)
}
func (f *fake) Send(ctx context.Context, c belfry.Channel, m belfry.Message) error {
	return only(reply[none](ctx, f, "Send", c, m))
}
