package httpapi

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/alerts"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/app/httpapi/internal/monitors"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// What a [fake] answers about monitors and who is told of them. It is every
// ability that a node may have besides.
var (
	_ monitors.Prober = (*fake)(nil)
	_ alerts.Notifier = (*fake)(nil)
	_ Secrets         = (*fake)(nil)
)

func (f *fake) CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error) {
	return reply[view.MonitorView](ctx, f, "CreateMonitor", m)
}

func (f *fake) UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error) {
	return reply[view.MonitorView](ctx, f, "UpdateMonitor", m)
}

func (f *fake) DeleteMonitor(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteMonitor", ns, name))
}

func (f *fake) Monitor(ctx context.Context, ns, name string) (view.MonitorView, error) {
	return reply[view.MonitorView](ctx, f, "Monitor", ns, name)
}

func (f *fake) Monitors(ctx context.Context, q view.MonitorFilter) (core.Page[view.MonitorView], error) {
	return reply[core.Page[view.MonitorView]](ctx, f, "Monitors", q)
}

func (f *fake) CountMonitors(ctx context.Context, q view.MonitorFilter) (view.MonitorCount, error) {
	return reply[view.MonitorCount](ctx, f, "CountMonitors", q)
}

func (f *fake) Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error) {
	return reply[[]monitor.Bars](ctx, f, "Bars", q)
}

func (f *fake) PauseMonitor(ctx context.Context, ns, name string, until time.Time, reason string) (view.MonitorView, error) {
	return reply[view.MonitorView](ctx, f, "PauseMonitor", ns, name, until, reason)
}

func (f *fake) ResumeMonitor(ctx context.Context, ns, name string) (view.MonitorView, error) {
	return reply[view.MonitorView](ctx, f, "ResumeMonitor", ns, name)
}

func (f *fake) CheckMonitor(ctx context.Context, ns, name string) (job.Job, error) {
	return reply[job.Job](ctx, f, "CheckMonitor", ns, name)
}

func (f *fake) Results(ctx context.Context, q view.ResultFilter) (core.Page[view.MonitorResult], error) {
	return reply[core.Page[view.MonitorResult]](ctx, f, "Results", q)
}

func (f *fake) Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error) {
	return reply[monitor.Series](ctx, f, "Series", q)
}

func (f *fake) Uptime(ctx context.Context, ns, name string) (view.UptimeReport, error) {
	return reply[view.UptimeReport](ctx, f, "Uptime", ns, name)
}

func (f *fake) Timeline(ctx context.Context, ns, name string, from time.Time) ([]monitor.Span, error) {
	return reply[[]monitor.Span](ctx, f, "Timeline", ns, name, from)
}

func (f *fake) Incidents(ctx context.Context, q view.IncidentFilter) (core.Page[monitor.Incident], error) {
	return reply[core.Page[monitor.Incident]](ctx, f, "Incidents", q)
}

func (f *fake) Incident(ctx context.Context, ns string, id int64) (monitor.Incident, error) {
	return reply[monitor.Incident](ctx, f, "Incident", ns, id)
}

func (f *fake) AcknowledgeIncident(ctx context.Context, ns string, id int64, note string) (monitor.Incident, error) {
	return reply[monitor.Incident](ctx, f, "AcknowledgeIncident", ns, id, note)
}

func (f *fake) UnacknowledgeIncident(ctx context.Context, ns string, id int64) (monitor.Incident, error) {
	return reply[monitor.Incident](ctx, f, "UnacknowledgeIncident", ns, id)
}

func (f *fake) AssignIncident(ctx context.Context, ns string, id int64, to string) (monitor.Incident, error) {
	return reply[monitor.Incident](ctx, f, "AssignIncident", ns, id, to)
}

func (f *fake) UnassignIncident(ctx context.Context, ns string, id int64) (monitor.Incident, error) {
	return reply[monitor.Incident](ctx, f, "UnassignIncident", ns, id)
}

func (f *fake) UpdateIncident(ctx context.Context, ns string, id int64, u monitor.Update) (monitor.Update, error) {
	return reply[monitor.Update](ctx, f, "UpdateIncident", ns, id, u)
}

func (f *fake) PageVersions(ctx context.Context, q view.VersionFilter) (core.Page[monitor.PageVersion], error) {
	return reply[core.Page[monitor.PageVersion]](ctx, f, "PageVersions", q)
}

func (f *fake) PageVersion(ctx context.Context, ns, name string, seq int64) (monitor.PageVersion, error) {
	return reply[monitor.PageVersion](ctx, f, "PageVersion", ns, name, seq)
}

func (f *fake) AcceptPage(ctx context.Context, ns, name string, seq int64) (monitor.PageVersion, error) {
	return reply[monitor.PageVersion](ctx, f, "AcceptPage", ns, name, seq)
}

func (f *fake) Beat(ctx context.Context, key string, call monitor.Call) (view.Beaten, error) {
	return reply[view.Beaten](ctx, f, "Beat", key, call)
}

func (f *fake) SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error) {
	return reply[alert.Channel](ctx, f, "SaveChannel", d)
}

func (f *fake) DeleteChannel(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteChannel", ns, name))
}

func (f *fake) Channel(ctx context.Context, ns, name string) (alert.Channel, error) {
	return reply[alert.Channel](ctx, f, "Channel", ns, name)
}

func (f *fake) Channels(ctx context.Context, q view.DocumentFilter) (core.Page[alert.Channel], error) {
	return reply[core.Page[alert.Channel]](ctx, f, "Channels", q)
}

func (f *fake) SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error) {
	return reply[alert.Rule](ctx, f, "SaveAlertRule", d)
}

func (f *fake) DeleteAlertRule(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteAlertRule", ns, name))
}

func (f *fake) AlertRule(ctx context.Context, ns, name string) (alert.Rule, error) {
	return reply[alert.Rule](ctx, f, "AlertRule", ns, name)
}

func (f *fake) AlertRules(ctx context.Context, q view.DocumentFilter) (core.Page[alert.Rule], error) {
	return reply[core.Page[alert.Rule]](ctx, f, "AlertRules", q)
}

func (f *fake) SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error) {
	return reply[hook.Hook](ctx, f, "SaveHook", d)
}

func (f *fake) DeleteHook(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteHook", ns, name))
}

func (f *fake) Hook(ctx context.Context, ns, name string) (hook.Hook, error) {
	return reply[hook.Hook](ctx, f, "Hook", ns, name)
}

func (f *fake) ListHooks(ctx context.Context, q view.DocumentFilter) (core.Page[hook.Hook], error) {
	return reply[core.Page[hook.Hook]](ctx, f, "ListHooks", q)
}

func (f *fake) PauseHook(ctx context.Context, ns, name string, paused bool) (hook.Hook, error) {
	return reply[hook.Hook](ctx, f, "PauseHook", ns, name, paused)
}

func (f *fake) HookStatuses(ctx context.Context, q view.DocumentFilter) (core.Page[hook.Standing], error) {
	return reply[core.Page[hook.Standing]](ctx, f, "HookStatuses", q)
}

func (f *fake) HookStatus(ctx context.Context, ns, name string) (hook.Status, error) {
	return reply[hook.Status](ctx, f, "HookStatus", ns, name)
}

func (f *fake) PullEvents(ctx context.Context, ns, name, after string, wait time.Duration) (hook.Pulled, error) {
	return reply[hook.Pulled](ctx, f, "PullEvents", ns, name, after, wait)
}

func (f *fake) AckEvents(ctx context.Context, ns, name, cursor string) (hook.Standing, error) {
	return reply[hook.Standing](ctx, f, "AckEvents", ns, name, cursor)
}

func (f *fake) HookEvents(ctx context.Context, q hook.Filter) (core.Page[hook.Recorded], error) {
	return reply[core.Page[hook.Recorded]](ctx, f, "HookEvents", q)
}

func (f *fake) ReplayHook(ctx context.Context, ns, name string, r hook.Replay) (hook.Replayed, error) {
	return reply[hook.Replayed](ctx, f, "ReplayHook", ns, name, r)
}

func (f *fake) SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error) {
	return reply[monitor.Window](ctx, f, "SaveWindow", d)
}

func (f *fake) DeleteWindow(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteWindow", ns, name))
}

func (f *fake) Window(ctx context.Context, ns, name string) (monitor.Window, error) {
	return reply[monitor.Window](ctx, f, "Window", ns, name)
}

func (f *fake) Windows(ctx context.Context, q view.DocumentFilter) (core.Page[monitor.Window], error) {
	return reply[core.Page[monitor.Window]](ctx, f, "Windows", q)
}

func (f *fake) SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error) {
	return reply[public.StatusPage](ctx, f, "SaveStatusPage", d)
}

func (f *fake) DeleteStatusPage(ctx context.Context, ns, name string) error {
	return only(reply[api.None](ctx, f, "DeleteStatusPage", ns, name))
}

func (f *fake) StatusPage(ctx context.Context, ns, name string) (public.StatusPage, error) {
	return reply[public.StatusPage](ctx, f, "StatusPage", ns, name)
}

func (f *fake) StatusPages(ctx context.Context, q view.DocumentFilter) (core.Page[public.StatusPage], error) {
	return reply[core.Page[public.StatusPage]](ctx, f, "StatusPages", q)
}

func (f *fake) Alerts(ctx context.Context, q alert.Filter) (core.Page[alert.Alert], error) {
	return reply[core.Page[alert.Alert]](ctx, f, "Alerts", q)
}

func (f *fake) AlertTries(ctx context.Context, ns string, id int64) ([]alert.Try, error) {
	return reply[[]alert.Try](ctx, f, "AlertTries", ns, id)
}

func (f *fake) HookSecrets(ctx context.Context, ns, name string) (alert.Channel, error) {
	return reply[alert.Channel](ctx, f, "HookSecrets", ns, name)
}

func (f *fake) ChannelSecrets(ctx context.Context, ns, name string) (alert.Channel, error) {
	return reply[alert.Channel](ctx, f, "ChannelSecrets", ns, name)
}

func (f *fake) CheckOf(ctx context.Context, ns, name string) (task.Task, error) {
	return reply[task.Task](ctx, f, "CheckOf", ns, name)
}

func (f *fake) Try(ctx context.Context, t task.Task) (task.CheckResult, error) {
	return reply[task.CheckResult](ctx, f, "Try", t)
}

func (f *fake) Preview(ctx context.Context, t task.Task) (PagePreview, error) {
	return reply[PagePreview](ctx, f, "Preview", t)
}

func (f *fake) Send(ctx context.Context, c alert.Channel, m alert.Message) error {
	return only(reply[api.None](ctx, f, "Send", c, m))
}

func (f *fake) Announcements(ctx context.Context, q view.AnnouncementFilter) (core.Page[public.Announcement], error) {
	return reply[core.Page[public.Announcement]](ctx, f, "Announcements", q)
}

func (f *fake) Announcement(ctx context.Context, ns, page string, id int64) (public.Announcement, error) {
	return reply[public.Announcement](ctx, f, "Announcement", ns, page, id)
}

func (f *fake) CreateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error) {
	return reply[public.Announcement](ctx, f, "CreateAnnouncement", a)
}

func (f *fake) UpdateAnnouncement(ctx context.Context, a public.Announcement) (public.Announcement, error) {
	return reply[public.Announcement](ctx, f, "UpdateAnnouncement", a)
}

func (f *fake) EndAnnouncement(ctx context.Context, ns, page string, id int64) (public.Announcement, error) {
	return reply[public.Announcement](ctx, f, "EndAnnouncement", ns, page, id)
}

func (f *fake) Subscribers(ctx context.Context, q view.SubscriberFilter) (core.Page[public.Subscriber], error) {
	return reply[core.Page[public.Subscriber]](ctx, f, "Subscribers", q)
}

func (f *fake) CountSubscribers(ctx context.Context, ns, page string) (view.SubscriberCounts, error) {
	return reply[view.SubscriberCounts](ctx, f, "CountSubscribers", ns, page)
}

func (f *fake) RemoveSubscriber(ctx context.Context, ns, page string, id int64) error {
	return only(reply[api.None](ctx, f, "RemoveSubscriber", ns, page, id))
}
