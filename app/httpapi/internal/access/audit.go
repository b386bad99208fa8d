package access

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
)

func (s *server) auditRoutes() {
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
	api.Serve(s.API, api.Endpoint{
		Id: "audit-list", Method: http.MethodGet, Path: "/v1/audit", Scope: access.ScopeRead,
		Summary: "List who changed what, newest first",
	}, func(ctx context.Context, c *api.Call, in *auditing) (core.Page[access.Audit], error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[access.Audit]{}, err
		}
		return api.Page(s.service.Audit(ctx, access.AuditFilter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Noun: in.Noun, Name: in.Name, Actor: in.Actor, Since: in.Since, Until: in.Until,
		}))
	})
}
