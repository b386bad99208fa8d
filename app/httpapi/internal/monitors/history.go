package monitors

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

type barList struct {
	Items []monitor.Bars `json:"items" doc:"By name"`
}

// monitorHistory serves the history of a monitor.
func (s *server) monitorHistory() {
	type resulting struct {
		Name      string            `path:"name"`
		Namespace string            `query:"namespace" doc:"Default: the token's namespace, or default"`
		Outcome   task.CheckOutcome `query:"outcome" doc:"Only results of this outcome: ok, degraded, fail or error"`
		Since     time.Time         `query:"since" doc:"At or after"`
		Until     time.Time         `query:"until" doc:"Before"`
		Limit     int               `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string            `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-results", Method: http.MethodGet, Path: "/v1/monitors/{name}/results", Scope: access.ScopeRead,
		Summary: "List its checks, newest first",
		Doc:     "Single results are kept for a week, unless the operator chose otherwise; what is older is in the series.",
	}, func(ctx context.Context, c *api.Call, in *resulting) (core.Page[view.MonitorResult], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[view.MonitorResult]{}, err
		}
		if err := api.OneOf("outcome", in.Outcome, task.CheckOK, task.CheckDegraded, task.CheckFail, task.CheckError); err != nil {
			return core.Page[view.MonitorResult]{}, err
		}
		return api.Page(s.service.Results(ctx, view.ResultFilter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Monitor: in.Name, Outcome: in.Outcome, Since: in.Since, Until: in.Until,
		}))
	})

	type plotting struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		From      time.Time `query:"from" doc:"Begin of the span; default: a day before to"`
		To        time.Time `query:"to" doc:"End of the span; default: now"`
		Step      string    `query:"step" doc:"Length of a point, such as 5m or 1h; at least 1m; default: so that about 200 points come"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-series", Method: http.MethodGet, Path: "/v1/monitors/{name}/series", Scope: access.ScopeRead,
		Summary: "Count its outcomes and sum up its latencies over time",
	}, func(ctx context.Context, c *api.Call, in *plotting) (wire.PointList, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return wire.PointList{}, err
		}
		q := view.SeriesQuery{Namespace: ns, Monitor: in.Name, From: in.From, To: in.To}
		if in.Step != "" {
			if q.Step, err = core.ParseDuration(in.Step); err != nil || q.Step <= 0 { // 0 would mean the default
				return wire.PointList{}, core.InvalidField("step", wire.Shorten(in.Step), "is not a length of time", "such as 5m or 1h")
			}
		}
		points, err := s.service.Series(ctx, q)
		return wire.PointList{Items: api.List(points)}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-uptime", Method: http.MethodGet, Path: "/v1/monitors/{name}/uptime", Scope: access.ScopeRead,
		Summary: "Say how much of several spans its target was up",
		Doc:     "By time and not by number of checks. Maintenance, pauses and what nobody looked at count neither way.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (view.UptimeReport, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.UptimeReport{}, err
		}
		r, err := s.service.Uptime(ctx, ns, in.Name)
		r.Spans = api.List(r.Spans)
		return r, err
	})

	s.monitorTimeline()
}

// monitorTimeline serves the states of a monitor over time, and its incidents.
func (s *server) monitorTimeline() {
	type tracing struct {
		Name      string    `path:"name"`
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default"`
		From      time.Time `query:"from" doc:"From when on; default: all that is known"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-timeline", Method: http.MethodGet, Path: "/v1/monitors/{name}/timeline", Scope: access.ScopeRead,
		Summary: "List what held of its target, one entry for each change",
	}, func(ctx context.Context, c *api.Call, in *tracing) (wire.SpanList, error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return wire.SpanList{}, err
		}
		spans, err := s.service.Timeline(ctx, ns, in.Name, in.From)
		return wire.SpanList{Items: api.List(spans)}, err
	})

	type suffering struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Open      bool   `query:"open" doc:"Only the one that is not over"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-incidents", Method: http.MethodGet, Path: "/v1/monitors/{name}/incidents", Scope: access.ScopeRead,
		Summary: "List its outages, newest first",
		Doc:     "The same as GET /v1/incidents, with the monitor named in the address.",
	}, func(ctx context.Context, c *api.Call, in *suffering) (core.Page[monitor.Incident], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[monitor.Incident]{}, err
		}
		return api.Page(s.service.Incidents(ctx, view.IncidentFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Monitor: in.Name, Open: in.Open,
		}))
	})
}

func (s *server) incidentRoutes() {
	type listing struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Monitor   string `query:"monitor" doc:"Only outages of this monitor"`
		Open      bool   `query:"open" doc:"Only those that are not over"`
		Over      bool   `query:"over" doc:"Only those that are"`
		Assigned  string `query:"assigned" maxLength:"400" doc:"Only those of this person"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "incident-list", Method: http.MethodGet, Path: "/v1/incidents", Scope: access.ScopeRead,
		Summary: "List outages, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[monitor.Incident], error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[monitor.Incident]{}, err
		}
		return api.Page(s.service.Incidents(ctx, view.IncidentFilter{
			Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Monitor: in.Monitor, Open: in.Open, Over: in.Over, Assigned: in.Assigned,
		}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "incident-show", Method: http.MethodGet, Path: "/v1/incidents/{id}", Scope: access.ScopeRead,
		Summary: "Show an outage: what came back instead, and what people wrote",
	}, func(ctx context.Context, c *api.Call, in *api.ByID) (monitor.Incident, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Incident{}, err
		}
		return s.service.Incident(ctx, ns, in.ID)
	})
	s.incidentActions()
}

func (s *server) incidentActions() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "incident-acknowledge", Method: http.MethodPost, Path: "/v1/incidents/{id}/acknowledge", Scope: access.ScopeOperate, Bare: true,
		Summary: "Say that you look after an outage",
		Doc:     "No reminder of it is sent then; its end is. The first acknowledgement holds: repeated by the same token it answers that one, and another token gets a conflict.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID, body wire.AcknowledgeOptions) (monitor.Incident, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Incident{}, err
		}
		return s.service.AcknowledgeIncident(ctx, ns, in.ID, body.Note)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "incident-unacknowledge", Method: http.MethodPost, Path: "/v1/incidents/{id}/unacknowledge", Scope: access.ScopeOperate,
		Summary: "Take an acknowledgement back; it may be that of another person",
	}, func(ctx context.Context, c *api.Call, in *api.ByID) (monitor.Incident, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Incident{}, err
		}
		return s.service.UnacknowledgeIncident(ctx, ns, in.ID)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "incident-assign", Method: http.MethodPost, Path: "/v1/incidents/{id}/assign", Scope: access.ScopeOperate, Bare: true,
		Summary: "Assign an outage to a person",
		Doc:     "The name is free, and may be that of a user or a team. The last assignment holds; each is kept with its author. It sends no notification.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID, body wire.AssignOptions) (monitor.Incident, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Incident{}, err
		}
		return s.service.AssignIncident(ctx, ns, in.ID, body.To)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "incident-unassign", Method: http.MethodPost, Path: "/v1/incidents/{id}/unassign", Scope: access.ScopeOperate,
		Summary: "Take the assignment of an outage back",
	}, func(ctx context.Context, c *api.Call, in *api.ByID) (monitor.Incident, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Incident{}, err
		}
		return s.service.UnassignIncident(ctx, ns, in.ID)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "incident-update", Method: http.MethodPost, Path: "/v1/incidents/{id}/updates", Scope: access.ScopeOperate, Created: true,
		Summary: "Write an update of an outage",
		Doc:     "At most 200 for each outage, open or over. Updates cannot be changed, and the same one from the same token within ten minutes is there once. Public ones are shown on status pages, without their author.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID, body monitor.Update) (monitor.Update, error) {
		ns, err := in.Resolve(c, "incident")
		if err != nil {
			return monitor.Update{}, err
		}
		return s.service.UpdateIncident(ctx, ns, in.ID, body)
	})
}
