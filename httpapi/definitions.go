package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/belfry-run/belfry"
)

// applyTimeout bounds one apply, which may be a hundred thousand definitions.
const applyTimeout = 2 * time.Minute

func (s *Server) definitionRoutes() {
	type applying struct {
		Namespace string `query:"namespace" doc:"For definitions that name none, and the one that prune is about; default: the token's namespace, or default"`
		DryRun    bool   `query:"dry_run" doc:"Only say what would change; the scope read is enough"`
		Prune     bool   `query:"prune" doc:"Delete calendars, tasks and schedules of the namespace that the manifest does not name"`
	}
	serveBody(s, endpoint{
		// The handler asks for admin, unless it is a dry run.
		id: "definition-apply", method: http.MethodPost, path: "/v1/apply", scope: belfry.ScopeRead,
		timeout: applyTimeout, maxBody: s.opts.MaxApply,
		summary: "Make queues, calendars, tasks and schedules as a manifest says",
		doc:     "All of it or nothing, in one transaction. Without dry_run it needs the scope admin; queues need a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *applying, m belfry.Manifest) (belfry.Applied, error) {
		o := belfry.ApplyOptions{DryRun: in.DryRun, Prune: in.Prune}
		var err error
		if o.Namespace, err = inOne(c.token, "namespace", in.Namespace); err != nil {
			return belfry.Applied{}, err
		}
		if err := mayApply(c.token, m, o); err != nil {
			return belfry.Applied{}, err
		}
		done, err := s.service.Apply(ctx, m, o)
		done.Changes = list(done.Changes)
		return done, err
	})

	type exporting struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	}
	serve(s, endpoint{
		id: "definition-export", method: http.MethodGet, path: "/v1/export", scope: belfry.ScopeRead, timeout: applyTimeout,
		summary: "Write queues, calendars, tasks and schedules as a manifest",
	}, func(ctx context.Context, c *call, in *exporting) (belfry.Manifest, error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return belfry.Manifest{}, err
		}
		return s.service.Export(ctx, ns)
	})

	type auditing struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all, and for what belongs to none"`
		Noun      string `query:"noun" doc:"Only changes of this: task, schedule, calendar, backfill, queue, job, token, …"`
		Name      string `query:"name" doc:"Only changes of what has this name"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
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
			Namespace: ns, Noun: in.Noun, Name: in.Name,
		}))
	})
}

// mayApply looks at whose definitions a manifest holds.
func mayApply(t belfry.Token, m belfry.Manifest, o belfry.ApplyOptions) error {
	if !o.DryRun {
		if err := allow(t, belfry.ScopeAdmin); err != nil {
			return err
		}
		if len(m.Queues) > 0 {
			if err := everywhere(t, "queues"); err != nil {
				return err
			}
		}
	}
	for i, cal := range m.Calendars {
		if _, err := inOne(t, fmt.Sprintf("calendars[%d].namespace", i), cal.Namespace); err != nil {
			return err
		}
	}
	for i, task := range m.Tasks {
		if _, err := inOne(t, fmt.Sprintf("tasks[%d].namespace", i), task.Namespace); err != nil {
			return err
		}
	}
	for i, sched := range m.Schedules {
		if _, err := inOne(t, fmt.Sprintf("schedules[%d].namespace", i), sched.Namespace); err != nil {
			return err
		}
	}
	return nil
}
