package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/schedule"
)

func (s *Server) scheduleRoutes() {
	type listing struct {
		Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		State     schedule.State `query:"state" doc:"Only schedules in this state: active, paused or completed"`
		Task      string         `query:"task" doc:"Only schedules of this task"`
		Tag       string         `query:"tag" doc:"Only schedules of tasks with this tag"`
		Part      string         `query:"part" maxLength:"128" doc:"Only schedules with this in their name, whatever its case; the answer says in looked when it stopped before the page was full"`
		Limit     int            `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string         `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "schedule-list", method: http.MethodGet, path: "/v1/schedules", scope: access.ScopeRead,
		summary: "List schedules by name",
	}, func(ctx context.Context, c *call, in *listing) (core.Page[schedule.Schedule], error) {
		f := schedule.Filter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, State: in.State, Task: in.Task, Tag: in.Tag, Part: in.Part}
		var err error
		if f.Namespace, err = inNamespace(c.token, "namespace", in.Namespace); err != nil {
			return core.Page[schedule.Schedule]{}, err
		}
		if err := oneOf("state", in.State, schedule.Active, schedule.Paused, schedule.Completed); err != nil {
			return core.Page[schedule.Schedule]{}, err
		}
		return page(s.service.Schedules(ctx, f))
	})

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
		Paused    bool   `query:"paused" doc:"Create it paused: it runs once it is resumed"`
		Reason    string `query:"reason" doc:"Why it is paused, shown beside the state"`
	}
	serveBody(s, endpoint{
		id: "schedule-create", method: http.MethodPost, path: "/v1/schedules", scope: access.ScopeAdmin, created: true,
		summary: "Create a schedule",
	}, func(ctx context.Context, c *call, in *creating, v schedule.Schedule) (_ schedule.Schedule, err error) {
		if v.Namespace, err = c.owner(in.Namespace, v.Namespace); err != nil {
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

	serve(s, endpoint{
		id: "schedule-show", method: http.MethodGet, path: "/v1/schedules/{name}", scope: access.ScopeRead,
		summary: "Show a schedule",
	}, func(ctx context.Context, c *call, in *byName) (schedule.Schedule, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.Schedule(ctx, ns, in.Name)
	})

	serveBody(s, endpoint{
		id: "schedule-update", method: http.MethodPut, path: "/v1/schedules/{name}", scope: access.ScopeAdmin,
		summary: "Replace a schedule",
		doc:     "What the body leaves out gets its default, not what it was before. An edit that does not touch times does not move the cadence.",
	}, func(ctx context.Context, c *call, in *byName, v schedule.Schedule) (_ schedule.Schedule, err error) {
		if v.Name, err = agree("name", in.Name, v.Name); err != nil {
			return v, err
		}
		if v.Namespace, err = c.owner(in.Namespace, v.Namespace); err != nil {
			return v, err
		}
		return s.service.UpdateSchedule(ctx, v)
	})

	serve(s, endpoint{
		id: "schedule-delete", method: http.MethodDelete, path: "/v1/schedules/{name}", scope: access.ScopeAdmin,
		summary: "Delete a schedule",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteSchedule(ctx, ns, in.Name)
	})

	s.scheduleActions()
	s.scheduleTimes()
}

func (s *Server) scheduleActions() {
	serveBody(s, endpoint{
		id: "schedule-pause", method: http.MethodPost, path: "/v1/schedules/{name}/pause", scope: access.ScopeOperate, bare: true,
		summary: "Pause a schedule",
		doc:     "Jobs of it that wait are withdrawn.",
	}, func(ctx context.Context, c *call, in *byName, body wire.PauseReason) (schedule.Schedule, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.PauseSchedule(ctx, ns, in.Name, body.Reason)
	})

	serveBody(s, endpoint{
		id: "schedule-resume", method: http.MethodPost, path: "/v1/schedules/{name}/resume", scope: access.ScopeOperate, bare: true,
		summary: "Resume a paused schedule",
		doc:     "The runs of the pause are not made up for unless asked.",
	}, func(ctx context.Context, c *call, in *byName, body wire.ResumeOptions) (schedule.Schedule, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return schedule.Schedule{}, err
		}
		return s.service.ResumeSchedule(ctx, ns, in.Name, body.CatchUp)
	})

	serveBody(s, endpoint{
		id: "schedule-trigger", method: http.MethodPost, path: "/v1/schedules/{name}/trigger", scope: access.ScopeOperate, bare: true, created: true,
		summary: "Make a job now, beside the plan",
	}, func(ctx context.Context, c *call, in *byName, body wire.TriggerInput) (job.Job, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.TriggerSchedule(ctx, ns, in.Name, body.Input)
	})
}

func (s *Server) scheduleTimes() {
	type deciding struct {
		Name      string            `path:"name"`
		Namespace string            `query:"namespace" doc:"Default: the token's namespace, or default"`
		Decision  schedule.Decision `query:"decision" doc:"Only occurrences with this decision: job, buffered or skipped"`
		Limit     int               `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string            `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "schedule-occurrences", method: http.MethodGet, path: "/v1/schedules/{name}/occurrences", scope: access.ScopeRead,
		summary: "List what was decided for its nominal times, newest first",
	}, func(ctx context.Context, c *call, in *deciding) (core.Page[schedule.Occurrence], error) {
		ns, err := (&byName{in.Name, in.Namespace}).resolve(c)
		if err != nil {
			return core.Page[schedule.Occurrence]{}, err
		}
		if err := oneOf("decision", in.Decision, schedule.DecidedJob, schedule.DecidedBuffered, schedule.DecidedSkipped); err != nil {
			return core.Page[schedule.Occurrence]{}, err
		}
		return page(s.service.Occurrences(ctx, schedule.OccurrenceFilter{
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
	serve(s, endpoint{
		id: "schedule-next", method: http.MethodGet, path: "/v1/schedules/{name}/next", scope: access.ScopeRead,
		summary: "Compute its next nominal times, and what becomes of each",
		doc: "With what daylight saving, calendars and jitter do to them, and without regard to overlap and pause. " +
			"A rule that counts from the finish has none. POST /v1/look says more.",
	}, func(ctx context.Context, c *call, in *looking) (comingList, error) {
		ns, err := (&byName{in.Name, in.Namespace}).resolve(c)
		if err != nil {
			return comingList{}, err
		}
		l, err := s.service.Look(ctx, schedule.LookQuery{Namespace: ns, Name: in.Name, From: in.From, N: in.N, RunsOnly: in.RunsOnly})
		return comingList{list(l.Coming)}, err
	})
}
