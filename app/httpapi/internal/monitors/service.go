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

// Monitors stores monitors and their results.
type Monitors interface {
	CreateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	UpdateMonitor(ctx context.Context, m monitor.Monitor) (view.MonitorView, error)
	DeleteMonitor(ctx context.Context, namespace, name string) error
	Monitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	Monitors(ctx context.Context, f view.MonitorFilter) (core.Page[view.MonitorView], error)
	// PauseMonitor pauses a monitor until an instant or, if until is zero, until it
	// is resumed.
	PauseMonitor(ctx context.Context, namespace, name string, until time.Time, reason string) (view.MonitorView, error)
	ResumeMonitor(ctx context.Context, namespace, name string) (view.MonitorView, error)
	// CheckMonitor runs a check now, in addition to the schedule.
	CheckMonitor(ctx context.Context, namespace, name string) (job.Job, error)
	Results(ctx context.Context, f view.ResultFilter) (core.Page[view.MonitorResult], error)
	Series(ctx context.Context, q view.SeriesQuery) (monitor.Series, error)
	Uptime(ctx context.Context, namespace, monitor string) (view.UptimeReport, error)
	// CountMonitors counts the monitors of a filter, up to [core.CountLimit].
	CountMonitors(ctx context.Context, f view.MonitorFilter) (view.MonitorCount, error)
	// Bars returns the recent states of monitors; unknown names are left out.
	Bars(ctx context.Context, q monitor.BarsQuery) ([]monitor.Bars, error)
	// Timeline returns the states of a monitor from an instant on; zero means
	// the whole history.
	Timeline(ctx context.Context, namespace, monitor string, from time.Time) ([]monitor.Span, error)
	Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	// AcknowledgeIncident acknowledges an incident for the caller. If it is already
	// acknowledged, another caller gets a conflict.
	AcknowledgeIncident(ctx context.Context, namespace string, id int64, note string) (monitor.Incident, error)
	UnacknowledgeIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	// AssignIncident assigns an incident to a person; by default to the caller.
	AssignIncident(ctx context.Context, namespace string, id int64, to string) (monitor.Incident, error)
	UnassignIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	UpdateIncident(ctx context.Context, namespace string, id int64, u monitor.Update) (monitor.Update, error)
	PageVersions(ctx context.Context, f view.VersionFilter) (core.Page[monitor.PageVersion], error)
	// PageVersion returns a version with its text; 0 is the newest, -1 the baseline.
	PageVersion(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// AcceptPage makes a version the baseline, with the same numbering.
	AcceptPage(ctx context.Context, namespace, monitor string, seq int64) (monitor.PageVersion, error)
	// Beat counts a call of a heartbeat's URL, which contains the key.
	Beat(ctx context.Context, key string, call monitor.Call) (view.Beaten, error)
}

// Windows stores maintenance windows.
type Windows interface {
	SaveWindow(ctx context.Context, d monitor.Window) (monitor.Window, error)
	DeleteWindow(ctx context.Context, namespace, name string) error
	Window(ctx context.Context, namespace, name string) (monitor.Window, error)
	Windows(ctx context.Context, f view.DocumentFilter) (core.Page[monitor.Window], error)
}

// StatusPages stores public status pages.
type StatusPages interface {
	SaveStatusPage(ctx context.Context, d public.StatusPage) (public.StatusPage, error)
	DeleteStatusPage(ctx context.Context, namespace, name string) error
	StatusPage(ctx context.Context, namespace, name string) (public.StatusPage, error)
	StatusPages(ctx context.Context, f view.DocumentFilter) (core.Page[public.StatusPage], error)
}
