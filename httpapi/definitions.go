package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/belfry-run/belfry"
)

// applyTimeout bounds one apply, which may be a hundred thousand definitions.
const applyTimeout = 2 * time.Minute

func (s *Server) definitionRoutes() {
	type applying struct {
		Namespace string `query:"namespace" doc:"For definitions that name none, and the one that prune is about; default: the token's namespace, or default"`
		DryRun    bool   `query:"dry_run" doc:"Only say what would change; the scope read is enough for 1,000 definitions, operate for 10,000"`
		Prune     bool   `query:"prune" doc:"Delete what the namespace has and the manifest does not name"`
	}
	serveBody(s, endpoint{
		// The handler asks for admin, unless it is a dry run.
		id: "definition-apply", method: http.MethodPost, path: "/v1/apply", scope: belfry.ScopeRead,
		timeout: applyTimeout, maxBody: s.opts.MaxApply,
		summary: "Make queues, calendars, tasks, schedules, monitors and who is told of them as a manifest says",
		doc: "All of it or nothing, in one transaction, which changes at most 10,000 definitions. Without dry_run it needs the scope admin; queues need a token for all namespaces. " +
			"A dry run writes nothing. For a token without the scope admin it says of every secret that it is not compared.",
	}, func(ctx context.Context, c *call, in *applying, m belfry.Manifest) (belfry.Applied, error) {
		o := belfry.ApplyOptions{DryRun: in.DryRun, Prune: in.Prune}
		var err error
		if o.Namespace, err = inOne(c.token, "namespace", in.Namespace); err != nil {
			return belfry.Applied{}, err
		}
		if err := mayApply(c.token, m, o); err != nil {
			return belfry.Applied{}, err
		}
		o.CompareSecrets = allow(c.token, belfry.ScopeAdmin) == nil
		done, err := s.service.Apply(ctx, m, o)
		done.Changes = list(done.Changes)
		return done, err
	})

	type exporting struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	}
	serve(s, endpoint{
		id: "definition-export", method: http.MethodGet, path: "/v1/export", scope: belfry.ScopeRead, timeout: applyTimeout,
		summary: "Write queues, calendars, tasks, schedules, monitors and who is told of them as a manifest, without secrets",
		doc:     "A namespace with more than 100,000 tasks, schedules or monitors is refused: a manifest holds no more.",
	}, func(ctx context.Context, c *call, in *exporting) (belfry.Manifest, error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return belfry.Manifest{}, err
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
		id: "audit-list", method: http.MethodGet, path: "/v1/audit", scope: belfry.ScopeRead,
		summary: "List who changed what, newest first",
	}, func(ctx context.Context, c *call, in *auditing) (belfry.Page[belfry.Audit], error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return belfry.Page[belfry.Audit]{}, err
		}
		return page(s.service.Audit(ctx, belfry.AuditFilter{
			Paging:    belfry.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Noun: in.Noun, Name: in.Name, Actor: in.Actor, Since: in.Since, Until: in.Until,
		}))
	})
}

// mayApply looks at whose definitions a manifest holds.
func mayApply(t belfry.Token, m belfry.Manifest, o belfry.ApplyOptions) error {
	if o.DryRun {
		if err := boundPlan(t, m.Count()); err != nil {
			return err
		}
	} else {
		if err := allow(t, belfry.ScopeAdmin); err != nil {
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
// [belfry.MaxManifest] alone.
const (
	readPlan    = 1_000
	operatePlan = 10_000
)

func boundPlan(t belfry.Token, n int) error {
	most, scope := readPlan, belfry.ScopeRead
	switch {
	case allow(t, belfry.ScopeAdmin) == nil:
		return nil
	case allow(t, belfry.ScopeOperate) == nil:
		most, scope = operatePlan, belfry.ScopeOperate
	}
	if n > most {
		return belfry.Errorf(belfry.TooLarge, "a dry run has %d definitions, and the scope %s allows %d", n, scope, most).
			WithHint("send fewer definitions, or use a token with the scope admin")
	}
	return nil
}

// ownersOf is the namespaces of what a manifest holds, by the name of the list.
func ownersOf(m belfry.Manifest) map[string][]string {
	return map[string][]string{
		"calendars":    each(m.Calendars, func(v belfry.Calendar) string { return v.Namespace }),
		"tasks":        each(m.Tasks, func(v belfry.Task) string { return v.Namespace }),
		"schedules":    each(m.Schedules, func(v belfry.Schedule) string { return v.Namespace }),
		"channels":     each(m.Channels, func(v belfry.Channel) string { return v.Namespace }),
		"alert_rules":  each(m.AlertRules, func(v belfry.AlertRule) string { return v.Namespace }),
		"monitors":     each(m.Monitors, func(v belfry.Monitor) string { return v.Namespace }),
		"windows":      each(m.Windows, func(v belfry.Window) string { return v.Namespace }),
		"status_pages": each(m.StatusPages, func(v belfry.StatusPage) string { return v.Namespace }),
	}
}

// redacted is a manifest as it is shown.
func redacted(m belfry.Manifest) belfry.Manifest {
	m.Tasks = each(m.Tasks, belfry.Task.Redacted)
	m.Channels = each(m.Channels, belfry.Channel.Redacted)
	m.Monitors = each(m.Monitors, belfry.Monitor.Redacted)
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
