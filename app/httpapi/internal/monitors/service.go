package monitors

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// Monitors keeps what is watched, and what was seen of it.
type Monitors interface {
	CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	// PauseMonitor stops a monitor until an instant or, if it is zero, until it
	// is resumed.
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (view.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	// CheckMonitor asks for a check now, beside the plan.
	CheckMonitor(ctx context.Context, namespace, name string) (job.Job, error)
	Results(ctx context.Context, f view.ResultFilter) (core.Page[view.MonitorResult], error)
	Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error)
	Uptime(ctx context.Context, namespace, monitor string) (view.UptimeReport, error)
	// CountMonitors counts what a filter finds, as far as [core.CountLimit].
	CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error)
	// Bars is how targets were lately; names that are none are left out.
	Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error)
	// Timeline is what held of a target, from an instant on; a zero one means
	// all that is known.
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]monitor.Span, error)
	Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	// AcknowledgeIncident says that the caller looks after an incident: the first
	// does, and another gets a conflict.
	AcknowledgeIncident(ctx context.Context, namespace string, id int64, note string) (monitor.Incident, error)
	UnacknowledgeIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	// AssignIncident makes an incident the work of a person; of the caller if none is named.
	AssignIncident(ctx context.Context, namespace string, id int64, to string) (monitor.Incident, error)
	UnassignIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	UpdateIncident(ctx context.Context, namespace string, id int64, u monitor.Update) (monitor.Update, error)
	PageVersions(ctx context.Context, f view.VersionFilter) (core.Page[monitor.PageVersion], error)
	// PageVersion is one version with its text; 0 is the newest, -1 the baseline.
	PageVersion(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// AcceptPage makes a version the baseline, by the same numbers.
	AcceptPage(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// Beat takes a call of a heartbeat's URL, which holds the key.
	Beat(ctx context.Context, key string, call monitor.Call) (view.Beaten, error)
}

// Windows keeps times of maintenance.
type Windows interface {
	SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error)
	DeleteWindow(ctx context.Context, namespace, name string) error
	Window(ctx context.Context, namespace, name string) (monitor.Window, error)
	Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error)
}

// StatusPages keeps what is shown to everyone.
type StatusPages interface {
	SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error)
}
