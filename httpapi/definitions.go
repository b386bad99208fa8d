package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (s *Server) definitionRoutes() {
	type applying struct {
		Namespace string `query:"namespace" doc:"For definitions that name none, and the one that prune is about; default: the token's namespace, or default"`
		DryRun    bool   `query:"dry_run" doc:"Only say what would change; the scope read is enough for 1,000 definitions, operate for 10,000"`
		Prune     bool   `query:"prune" doc:"Delete what the namespace has and the manifest does not name"`
	}
	serveBody(s, endpoint{
		// The handler asks for admin, unless it is a dry run.
		id: "definition-apply", method: http.MethodPost, path: "/v1/apply", scope: access.ScopeRead,
		timeout: wire.ApplyTimeout, maxBody: s.opts.MaxApply,
		summary: "Make queues, calendars, tasks, schedules, monitors and who is told of them as a manifest says",
		doc: "All of it or nothing, in one transaction, which changes at most 10,000 definitions. Without dry_run it needs the scope admin; queues need a token for all namespaces. " +
			"A dry run writes nothing. For a token without the scope admin it says of every secret that it is not compared.",
	}, func(ctx context.Context, c *call, in *applying, m view.Manifest) (view.Applied, error) {
		o := view.ApplyOptions{DryRun: in.DryRun, Prune: in.Prune}
		var err error
		if o.Namespace, err = inOne(c.token, "namespace", in.Namespace); err != nil {
			return view.Applied{}, err
		}
		if err := mayApply(c.token, m, o); err != nil {
			return view.Applied{}, err
		}
		o.CompareSecrets = allow(c.token, access.ScopeAdmin) == nil
		done, err := s.service.Apply(ctx, m, o)
		done.Changes = list(done.Changes)
		return done, err
	})

	type exporting struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	}
	serve(s, endpoint{
		id: "definition-export", method: http.MethodGet, path: "/v1/export", scope: access.ScopeRead, timeout: wire.ApplyTimeout,
		summary: "Write queues, calendars, tasks, schedules, monitors and who is told of them as a manifest, without secrets",
		doc:     "A namespace with more than 100,000 tasks, schedules or monitors is refused: a manifest holds no more.",
	}, func(ctx context.Context, c *call, in *exporting) (view.Manifest, error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return view.Manifest{}, err
		}
		m, err := s.service.Export(ctx, ns)
		return redacted(m), err
	})

	type auditing struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * for all, and for what belongs to none"`
		Noun      string    `query:"noun" doc:"Only changes of this: task, schedule, calendar, backfill, queue, job, token, monitor, channel, …"`
		Name      string    `query:"name" doc:"Only changes of what has this name"`
		Actor     string    `query:"actor" doc:"Only changes by this one, such as token:deploy"`
		Since     time.Time `query:"since" doc:"At or after"`
		Until     time.Time `query:"until" doc:"Before"`
		Limit     int       `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string    `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "audit-list", method: http.MethodGet, path: "/v1/audit", scope: access.ScopeRead,
		summary: "List who changed what, newest first",
	}, func(ctx context.Context, c *call, in *auditing) (core.Page[access.Audit], error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[access.Audit]{}, err
		}
		return page(s.service.Audit(ctx, access.AuditFilter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Noun: in.Noun, Name: in.Name, Actor: in.Actor, Since: in.Since, Until: in.Until,
		}))
	})
}

// mayApply looks at whose definitions a manifest holds.
func mayApply(t access.Token, m view.Manifest, o view.ApplyOptions) error {
	if o.DryRun {
		if err := boundPlan(t, m.Count()); err != nil {
			return err
		}
	} else {
		if err := allow(t, access.ScopeAdmin); err != nil {
			return err
		}
		if len(m.Queues) > 0 {
			if err := everywhere(t, "queues"); err != nil {
				return err
			}
		}
	}
	owners := ownersOf(m)
	for _, list := range slices.Sorted(maps.Keys(owners)) {
		for i, namespace := range owners[list] {
			if _, err := inOne(t, fmt.Sprintf("%s[%d].namespace", list, i), namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// How many definitions a dry run may hold, by scope. An admin's is bounded by
// [view.MaxManifest] alone.
const (
	readPlan    = 1_000
	operatePlan = 10_000
)

func boundPlan(t access.Token, n int) error {
	most, scope := readPlan, access.ScopeRead
	switch {
	case allow(t, access.ScopeAdmin) == nil:
		return nil
	case allow(t, access.ScopeOperate) == nil:
		most, scope = operatePlan, access.ScopeOperate
	}
	if n > most {
		return core.Errorf(core.TooLarge, "a dry run has %d definitions, and the scope %s allows %d", n, scope, most).
			WithHint("send fewer definitions, or use a token with the scope admin")
	}
	return nil
}

// ownersOf is the namespaces of what a manifest holds, by the name of the list.
func ownersOf(m view.Manifest) map[string][]string {
	return map[string][]string{
		"calendars":    each(m.Calendars, func(v schedule.Calendar) string { return v.Namespace }),
		"tasks":        each(m.Tasks, func(v task.Task) string { return v.Namespace }),
		"schedules":    each(m.Schedules, func(v schedule.Schedule) string { return v.Namespace }),
		"channels":     each(m.Channels, func(v alert.Channel) string { return v.Namespace }),
		"alert_rules":  each(m.AlertRules, func(v alert.Rule) string { return v.Namespace }),
		"monitors":     each(m.Monitors, func(v monitor.Monitor) string { return v.Namespace }),
		"windows":      each(m.Windows, func(v monitor.Window) string { return v.Namespace }),
		"status_pages": each(m.StatusPages, func(v monitor.StatusPage) string { return v.Namespace }),
	}
}

// redacted is a manifest as it is shown.
func redacted(m view.Manifest) view.Manifest {
	m.Tasks = each(m.Tasks, task.Task.Redacted)
	m.Channels = each(m.Channels, alert.Channel.Redacted)
	m.Monitors = each(m.Monitors, monitor.Monitor.Redacted)
	return m
}

// each is what f makes of the items of a list. A list that is not there stays
// so.
func each[T, R any](items []T, f func(T) R) []R {
	if items == nil {
		return nil
	}
	out := make([]R, len(items))
	for i, v := range items {
		out[i] = f(v)
	}
	return out
}
