package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/schedule"
)

// backfillByID names one backfill.
type backfillByID struct {
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
}

func (in *backfillByID) resolve(c *call) (string, error) {
	if in.ID < 1 {
		return "", core.InvalidField("id", fmt.Sprint(in.ID), "is not the id of a backfill", "")
	}
	return inNamespace(c.token, "namespace", in.Namespace)
}

func (s *Server) backfillRoutes() {
	type listing struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Schedule  string `query:"schedule" doc:"Only backfills of this schedule"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "backfill-list", method: http.MethodGet, path: "/v1/backfills", scope: access.ScopeRead,
		summary: "List backfills, newest first",
	}, func(ctx context.Context, c *call, in *listing) (core.Page[schedule.Backfill], error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[schedule.Backfill]{}, err
		}
		return page(s.service.Backfills(ctx, schedule.BackfillFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Schedule: in.Schedule,
		}))
	})

	serve(s, endpoint{
		id: "backfill-show", method: http.MethodGet, path: "/v1/backfills/{id}", scope: access.ScopeRead,
		summary: "Show a backfill and how far it is",
	}, func(ctx context.Context, c *call, in *backfillByID) (schedule.Backfill, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Backfill{}, err
		}
		return s.service.Backfill(ctx, ns, in.ID)
	})

	type starting struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	serveBody(s, endpoint{
		id: "backfill-start", method: http.MethodPost, path: "/v1/backfills", scope: access.ScopeOperate, created: true,
		summary: "Run nominal times of a schedule that have passed",
		doc:     "Beside the plan, whose cadence stays as it is. A schedule has one backfill at a time.",
	}, func(ctx context.Context, c *call, in *starting, b schedule.Backfill) (_ schedule.Backfill, err error) {
		if b.Namespace, err = c.owner(in.Namespace, b.Namespace); err != nil {
			return b, err
		}
		return s.service.StartBackfill(ctx, b)
	})

	serveBody(s, endpoint{
		id: "schedule-backfill", method: http.MethodPost, path: "/v1/schedules/{name}/backfill", scope: access.ScopeOperate, created: true,
		summary: "Run nominal times that have passed",
		doc:     "The same as POST /v1/backfills, with the schedule named in the address.",
	}, func(ctx context.Context, c *call, in *byName, b schedule.Backfill) (_ schedule.Backfill, err error) {
		if b.Schedule, err = agree("schedule", in.Name, b.Schedule); err != nil {
			return b, err
		}
		if b.Namespace, err = c.owner(in.Namespace, b.Namespace); err != nil {
			return b, err
		}
		return s.service.StartBackfill(ctx, b)
	})

	s.backfillAction("pause", "Make no more jobs of a backfill for now", schedule.BackfillPaused)
	s.backfillAction("resume", "Let a paused backfill go on", schedule.BackfillActive)
	s.backfillAction("cancel", "End a backfill", schedule.BackfillCanceled)
}

func (s *Server) backfillAction(verb, summary string, state schedule.BackfillState) {
	serve(s, endpoint{
		id: "backfill-" + verb, method: http.MethodPost, path: "/v1/backfills/{id}/" + verb, scope: access.ScopeOperate,
		summary: summary,
		doc:     "Jobs that it made stay.",
	}, func(ctx context.Context, c *call, in *backfillByID) (schedule.Backfill, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Backfill{}, err
		}
		return s.service.SetBackfill(ctx, ns, in.ID, state)
	})
}
