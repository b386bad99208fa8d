package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// ViewCalls are the calls about several nouns: overview, events, health, and definitions as a file.
type ViewCalls struct{ server *server }

// Apply implements [httpapi.Definitions].
func (c ViewCalls) Apply(ctx context.Context, m view.Manifest, o wire.ApplyOptions) (view.Applied, error) {
	query := words("namespace", o.Namespace)
	if o.DryRun {
		query.Set("dry_run", "true")
	}
	if o.Prune {
		query.Set("prune", "true")
	}
	var done view.Applied
	err := c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/apply", query: query, body: m, timeout: wire.ApplyTimeout + 30*time.Second, again: o.DryRun}, &done)
	return done, err
}

// Export implements [httpapi.Definitions].
func (c ViewCalls) Export(ctx context.Context, namespace string) (view.Manifest, error) {
	var m view.Manifest
	err := c.server.do(ctx, ask{method: http.MethodGet, path: "/v1/export", query: words("namespace", namespace), timeout: wire.ApplyTimeout + 30*time.Second, again: true}, &m)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = core.Errorf(core.Unavailable, "the export broke off before its end: %w", io.ErrUnexpectedEOF).
			WithHint("definitions are edited meanwhile, or the server stopped: export again")
	}
	return m, err
}

// ExportParts implements [httpapi.Definitions], with one part.
func (c ViewCalls) ExportParts(namespace string, _ int) func(ctx context.Context) (view.Manifest, bool, error) {
	return func(ctx context.Context) (view.Manifest, bool, error) {
		m, err := c.Export(ctx, namespace)
		return m, false, err
	}
}

// Events implements [httpapi.Watcher]. [Client.Watch] reads events continuously.
func (c ViewCalls) Events(ctx context.Context, namespace, cursor string, wait time.Duration) ([]view.Event, string, error) {
	wait = min(max(wait, 0), job.MaxClaimWait.D())
	var e wire.EventPage
	err := c.server.do(ctx, ask{
		method: http.MethodGet, path: "/v1/events/poll", timeout: wait + claimMargin, again: true,
		query: words("namespace", namespace, "cursor", cursor, "wait", wait.String()),
	}, &e)
	return e.Events, e.Next, err
}

// Health implements [httpapi.Health].
func (c ViewCalls) Health(ctx context.Context) (view.Health, error) {
	return get[view.Health](ctx, c.server, "/v1/health", nil)
}

// DatabaseHealth implements [httpapi.Health].
func (c ViewCalls) DatabaseHealth(ctx context.Context) (view.DatabaseHealth, error) {
	return get[view.DatabaseHealth](ctx, c.server, "/v1/database", nil)
}

// Overview implements [httpapi.History].
func (c ViewCalls) Overview(ctx context.Context, namespace string) (view.Overview, error) {
	return get[view.Overview](ctx, c.server, "/v1/overview", words("namespace", namespace))
}

// Strips implements [httpapi.History].
func (c ViewCalls) Strips(ctx context.Context, q view.StripQuery) ([]view.Strip, error) {
	return items[view.Strip](ctx, c.server, "/v1/strips", words("namespace", q.Namespace, "schedule", strings.Join(q.Schedules, ","), "n", numberText(q.N)))
}

// Titles implements [httpapi.History].
func (c ViewCalls) Titles(ctx context.Context, q view.Named) (view.Titles, error) {
	return items[view.Title](ctx, c.server, "/v1/titles", words("namespace", q.Namespace,
		"task", strings.Join(q.Tasks, ","), "schedule", strings.Join(q.Schedules, ","), "monitor", strings.Join(q.Monitors, ","), "queue", strings.Join(q.Queues, ","),
		"channel", strings.Join(q.Channels, ","), "alert_rule", strings.Join(q.AlertRules, ","), "hook", strings.Join(q.Hooks, ",")))
}

// TaskDays implements [httpapi.History].
func (c ViewCalls) TaskDays(ctx context.Context, q view.TaskDaysQuery) (view.TaskDaysFound, error) {
	return get[view.TaskDaysFound](ctx, c.server, "/v1/task-days",
		words("namespace", q.Namespace, "task", strings.Join(q.Tasks, ","), "from", timeText(q.From), "to", timeText(q.To)))
}
