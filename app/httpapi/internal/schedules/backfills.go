package schedules

import (
	"context"
	"fmt"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// backfillByID names one backfill.
type backfillByID struct {
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
}

func (in *backfillByID) resolve(c *api.Call) (string, error) {
	if in.ID < 1 {
		return "", core.InvalidField("id", fmt.Sprint(in.ID), "is not the id of a backfill", "")
	}
	return api.InNamespace(c.Token, "namespace", in.Namespace)
}

func (s *server) backfillRoutes() {
	type listing struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Schedule  string `query:"schedule" doc:"Only backfills of this schedule"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "backfill-list", Method: http.MethodGet, Path: "/v1/backfills", Scope: access.ScopeRead,
		Summary: "List backfills, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[schedule.Backfill], error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[schedule.Backfill]{}, err
		}
		return api.Page(s.service.Backfills(ctx, schedule.BackfillFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Schedule: in.Schedule,
		}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "backfill-show", Method: http.MethodGet, Path: "/v1/backfills/{id}", Scope: access.ScopeRead,
		Summary: "Show a backfill and how far it is",
	}, func(ctx context.Context, c *api.Call, in *backfillByID) (schedule.Backfill, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Backfill{}, err
		}
		return s.service.Backfill(ctx, ns, in.ID)
	})

	type starting struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
		Key       string `header:"Idempotency-Key" doc:"The same as the key in the body. The same request again starts no second backfill; another request with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "backfill-start", Method: http.MethodPost, Path: "/v1/backfills", Scope: access.ScopeOperate, Created: true,
		Summary: "Run nominal times of a schedule that have passed",
		Doc:     "Beside the plan, whose cadence stays as it is. A schedule has one backfill at a time.",
	}, func(ctx context.Context, c *api.Call, in *starting, b schedule.Backfill) (_ schedule.Backfill, err error) {
		if b.Namespace, err = c.Owner(in.Namespace, b.Namespace); err != nil {
			return b, err
		}
		if b.Key, err = api.Agree("key", in.Key, b.Key); err != nil {
			return b, err
		}
		return s.service.StartBackfill(ctx, b)
	})

	type startingOne struct {
		api.ByName
		Key string `header:"Idempotency-Key" doc:"The same as the key in the body. The same request again starts no second backfill; another request with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-backfill", Method: http.MethodPost, Path: "/v1/schedules/{name}/backfill", Scope: access.ScopeOperate, Created: true,
		Summary: "Run nominal times that have passed",
		Doc:     "The same as POST /v1/backfills, with the schedule named in the address.",
	}, func(ctx context.Context, c *api.Call, in *startingOne, b schedule.Backfill) (_ schedule.Backfill, err error) {
		if b.Schedule, err = api.Agree("schedule", in.Name, b.Schedule); err != nil {
			return b, err
		}
		if b.Namespace, err = c.Owner(in.Namespace, b.Namespace); err != nil {
			return b, err
		}
		if b.Key, err = api.Agree("key", in.Key, b.Key); err != nil {
			return b, err
		}
		return s.service.StartBackfill(ctx, b)
	})

	s.backfillAction("pause", "Make no more jobs of a backfill for now", schedule.BackfillPaused)
	s.backfillAction("resume", "Let a paused backfill go on", schedule.BackfillActive)
	s.backfillAction("cancel", "End a backfill", schedule.BackfillCanceled)
}

func (s *server) backfillAction(verb, summary string, state schedule.BackfillState) {
	api.Serve(s.API, api.Endpoint{
		Id: "backfill-" + verb, Method: http.MethodPost, Path: "/v1/backfills/{id}/" + verb, Scope: access.ScopeOperate,
		Summary: summary,
		Doc:     "Jobs that it made stay.",
	}, func(ctx context.Context, c *api.Call, in *backfillByID) (schedule.Backfill, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Backfill{}, err
		}
		return s.service.SetBackfill(ctx, ns, in.ID, state)
	})
}
