package definitions

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

func (s *server) definitionRoutes() {
	type applying struct {
		Namespace string `query:"namespace" doc:"For definitions that name none, and the one that prune is about; default: the token's namespace, or default"`
		DryRun    bool   `query:"dry_run" doc:"Only say what would change; the scope read is enough for 1,000 definitions, operate for 10,000"`
		Prune     bool   `query:"prune" doc:"Delete what the namespace has and the manifest does not name; refused if it names nothing there"`
	}
	api.ServeBody(s.API, api.Endpoint{
		// The handler requires admin, unless it is a dry run.
		Id: "definition-apply", Method: http.MethodPost, Path: "/v1/apply", Scope: access.ScopeRead,
		Timeout: wire.ApplyTimeout, MaxBody: s.maxApply,
		Summary: "Apply a manifest of queues, calendars, tasks, schedules, monitors, channels, alert rules and hooks",
		Doc: "All of it or nothing, in one transaction, which changes at most 10,000 definitions. Without dry_run it needs the scope admin; queues need a token for all namespaces. " +
			"A dry run writes nothing. For a token without the scope admin it says of every secret that it is not compared.",
	}, func(ctx context.Context, c *api.Call, in *applying, m view.Manifest) (view.Applied, error) {
		o := view.ApplyOptions{DryRun: in.DryRun, Prune: in.Prune}
		var err error
		if o.Namespace, err = api.InOne(c.Token, "namespace", in.Namespace); err != nil {
			return view.Applied{}, err
		}
		if err := mayApply(c.Token, m, o); err != nil {
			return view.Applied{}, err
		}
		if err := m.CheckPrune(o); err != nil {
			return view.Applied{}, err
		}
		o.CompareSecrets = api.Allow(c.Token, access.ScopeAdmin) == nil
		done, err := s.service.Apply(ctx, m, o)
		done.Changes = api.List(done.Changes)
		return done, err
	})
	s.exportRoute()
}

// mayApply checks that a token may apply a manifest, by the namespaces of its definitions.
func mayApply(t access.Token, m view.Manifest, o view.ApplyOptions) error {
	if o.DryRun {
		if err := boundPlan(t, m.Count()); err != nil {
			return err
		}
	} else {
		if err := api.Allow(t, access.ScopeAdmin); err != nil {
			return err
		}
		if len(m.Queues) > 0 {
			if err := api.Everywhere(t, "queues"); err != nil {
				return err
			}
		}
	}
	owners := ownersOf(m)
	for _, list := range slices.Sorted(maps.Keys(owners)) {
		for i, namespace := range owners[list] {
			if _, err := api.InOne(t, fmt.Sprintf("%s[%d].namespace", list, i), namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// Maximum number of definitions of a dry run, by scope. With admin, only
// [view.MaxManifest] limits it.
const (
	readPlan    = 1_000
	operatePlan = 10_000
)

func boundPlan(t access.Token, n int) error {
	most, scope := readPlan, access.ScopeRead
	switch {
	case api.Allow(t, access.ScopeAdmin) == nil:
		return nil
	case api.Allow(t, access.ScopeOperate) == nil:
		most, scope = operatePlan, access.ScopeOperate
	}
	if n > most {
		return core.Errorf(core.TooLarge, "a dry run has %d definitions, and the scope %s allows %d", n, scope, most).
			WithHint("send fewer definitions, or use a token with the scope admin")
	}
	return nil
}

// ownersOf returns the namespaces of the definitions in a manifest, by the name of the list.
func ownersOf(m view.Manifest) map[string][]string {
	return map[string][]string{
		"calendars":    api.Each(m.Calendars, func(v schedule.Calendar) string { return v.Namespace }),
		"tasks":        api.Each(m.Tasks, func(v task.Task) string { return v.Namespace }),
		"schedules":    api.Each(m.Schedules, func(v schedule.Schedule) string { return v.Namespace }),
		"channels":     api.Each(m.Channels, func(v alert.Channel) string { return v.Namespace }),
		"alert_rules":  api.Each(m.AlertRules, func(v alert.Rule) string { return v.Namespace }),
		"hooks":        api.Each(m.Hooks, func(v hook.Hook) string { return v.Namespace }),
		"monitors":     api.Each(m.Monitors, func(v monitor.Monitor) string { return v.Namespace }),
		"windows":      api.Each(m.Windows, func(v monitor.Window) string { return v.Namespace }),
		"status_pages": api.Each(m.StatusPages, func(v public.StatusPage) string { return v.Namespace }),
	}
}
