package schedules

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

func (s *server) scheduleRoutes() {
	type listing struct {
		Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		State     schedule.State `query:"state" doc:"Only schedules in this state: active, paused or completed"`
		Task      string         `query:"task" doc:"Only schedules of this task"`
		Tag       string         `query:"tag" doc:"Only schedules of tasks with this tag"`
		Part      string         `query:"part" maxLength:"200" doc:"Only schedules with this in their name or title, whatever its case; the answer says in looked when it stopped before the page was full"`
		Limit     int            `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string         `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-list", Method: http.MethodGet, Path: "/v1/schedules", Scope: access.ScopeRead,
		Summary: "List schedules by name",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[schedule.Schedule], error) {
		f := schedule.Filter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, State: in.State, Task: in.Task, Tag: in.Tag, Part: in.Part}
		var err error
		if f.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
			return core.Page[schedule.Schedule]{}, err
		}
		if err := api.OneOf("state", in.State, schedule.Active, schedule.Paused, schedule.Completed); err != nil {
			return core.Page[schedule.Schedule]{}, err
		}
		return api.Page(s.service.Schedules(ctx, f))
	})

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
		Paused    bool   `query:"paused" doc:"Create it paused: it runs once it is resumed"`
		Reason    string `query:"reason" doc:"Why it is paused, shown beside the state"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-create", Method: http.MethodPost, Path: "/v1/schedules", Scope: access.ScopeAdmin, Created: true,
		Summary: "Create a schedule",
	}, func(ctx context.Context, c *api.Call, in *creating, v schedule.Schedule) (_ schedule.Schedule, err error) {
		if v.Namespace, err = c.Owner(in.Namespace, v.Namespace); err != nil {
			return v, err
		}
		v.State, v.PausedReason = "", ""
		switch {
		case in.Paused:
			v.State, v.PausedReason = schedule.Paused, in.Reason
		case in.Reason != "":
			return v, core.InvalidField("reason", "", "belongs to paused", "ask for paused=true too")
		}
		return s.service.CreateSchedule(ctx, v)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "schedule-show", Method: http.MethodGet, Path: "/v1/schedules/{name}", Scope: access.ScopeRead,
		Summary: "Show a schedule",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (schedule.Schedule, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.Schedule(ctx, ns, in.Name)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-update", Method: http.MethodPut, Path: "/v1/schedules/{name}", Scope: access.ScopeAdmin,
		Summary: "Replace a schedule",
		Doc:     "What the body leaves out gets its default, not what it was before. An edit that does not touch times does not move the cadence.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, v schedule.Schedule) (_ schedule.Schedule, err error) {
		if v.Name, err = api.Agree("name", in.Name, v.Name); err != nil {
			return v, err
		}
		if v.Namespace, err = c.Owner(in.Namespace, v.Namespace); err != nil {
			return v, err
		}
		return s.service.UpdateSchedule(ctx, v)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "schedule-delete", Method: http.MethodDelete, Path: "/v1/schedules/{name}", Scope: access.ScopeAdmin,
		Summary: "Delete a schedule",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (api.None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteSchedule(ctx, ns, in.Name)
	})

	s.scheduleActions()
	s.scheduleTimes()
}

func (s *server) scheduleActions() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-pause", Method: http.MethodPost, Path: "/v1/schedules/{name}/pause", Scope: access.ScopeOperate, Bare: true,
		Summary: "Pause a schedule",
		Doc:     "Jobs of it that wait are withdrawn.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.PauseReason) (schedule.Schedule, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.PauseSchedule(ctx, ns, in.Name, body.Reason)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-resume", Method: http.MethodPost, Path: "/v1/schedules/{name}/resume", Scope: access.ScopeOperate, Bare: true,
		Summary: "Resume a paused schedule",
		Doc:     "The runs of the pause are not made up for unless asked.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.ResumeOptions) (schedule.Schedule, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.ResumeSchedule(ctx, ns, in.Name, body.CatchUp)
	})

	type triggering struct {
		api.ByName
		Key string `header:"Idempotency-Key" doc:"The same as the key in the body. The same request again makes no second job; another request with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "schedule-trigger", Method: http.MethodPost, Path: "/v1/schedules/{name}/trigger", Scope: access.ScopeOperate, Bare: true, Created: true,
		Summary: "Make a job now, beside the plan",
	}, func(ctx context.Context, c *api.Call, in *triggering, r job.RunNow) (e job.Enqueued, err error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return e, err
		}
		if r.Key, err = api.Agree("key", in.Key, r.Key); err != nil {
			return e, err
		}
		return s.service.TriggerSchedule(ctx, ns, in.Name, r)
	})
}

func (s *server) scheduleTimes() {
	type deciding struct {
		Name      string            `path:"name"`
		Namespace string            `query:"namespace" doc:"Default: the token's namespace, or default"`
		Decision  schedule.Decision `query:"decision" doc:"Only occurrences with this decision: job, buffered or skipped"`
		Limit     int               `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string            `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-occurrences", Method: http.MethodGet, Path: "/v1/schedules/{name}/occurrences", Scope: access.ScopeRead,
		Summary: "List what was decided for its nominal times, newest first",
	}, func(ctx context.Context, c *api.Call, in *deciding) (core.Page[schedule.Occurrence], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[schedule.Occurrence]{}, err
		}
		if err := api.OneOf("decision", in.Decision, schedule.DecidedJob, schedule.DecidedBuffered, schedule.DecidedSkipped); err != nil {
			return core.Page[schedule.Occurrence]{}, err
		}
		return api.Page(s.service.Occurrences(ctx, schedule.OccurrenceFilter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Schedule: in.Name, Decision: in.Decision,
		}))
	})

	type looking struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		N         int       `query:"n" minimum:"0" maximum:"1000" doc:"How many; default: 10"`
		From      time.Time `query:"from" doc:"From this time on; default: after now"`
		RunsOnly  bool      `query:"runs_only" doc:"Only times that run: none that calendars or max_runs skip"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "schedule-next", Method: http.MethodGet, Path: "/v1/schedules/{name}/next", Scope: access.ScopeRead,
		Summary: "Compute its next nominal times, and what becomes of each",
		Doc: "With what daylight saving, calendars and jitter do to them, and without regard to overlap and pause. " +
			"A rule that counts from the finish has none. POST /v1/look says more.",
	}, func(ctx context.Context, c *api.Call, in *looking) (comingList, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return comingList{}, err
		}
		l, err := s.service.Look(ctx, schedule.LookQuery{Namespace: ns, Name: in.Name, From: in.From, N: in.N, RunsOnly: in.RunsOnly})
		return comingList{api.List(l.Coming)}, err
	})
}
