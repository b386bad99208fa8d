package monitors

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// monitorBody is the body of a monitor to save. Fields that only answers have
// are accepted and ignored, so that an answer can be sent back.
type monitorBody struct {
	monitor.Monitor
	Status monitor.Status `json:"status,omitempty" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	State  monitor.State  `json:"state,omitzero" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	NextAt time.Time      `json:"next_at,omitzero" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	Beat   string         `json:"beat,omitempty" readOnly:"true" doc:"As it was shown; nothing comes of it"`
}

// shownTo returns a function that hides the key of a heartbeat from callers
// without the scope operate: with the key, a caller can report success.
func shownTo(c *api.Call) func(view.MonitorView, error) (view.MonitorView, error) {
	return func(v view.MonitorView, err error) (view.MonitorView, error) {
		v.Monitor = v.Redacted()
		if !access.Allows(c.Token.Scopes, access.ScopeOperate) {
			v.Beat = ""
		}
		return v, err
	}
}

// monitorFilter selects monitors.
type monitorFilter struct {
	Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	Status    monitor.Status `query:"status" doc:"Only monitors in this status: new, up, down or paused"`
	Kind      task.Kind      `query:"kind" doc:"Only monitors of this kind"`
	Tag       string         `query:"tag" doc:"Only monitors with this tag"`
	Search    string         `query:"search" doc:"Only monitors whose name or title has this in it, whatever its case"`
}

func (in *monitorFilter) resolve(c *api.Call) (f view.MonitorFilter, err error) {
	f = view.MonitorFilter{Status: in.Status, Kind: in.Kind, Tag: in.Tag, Search: in.Search}
	if f.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
		return f, err
	}
	if err := api.OneOf("status", in.Status, monitor.StatusNew, monitor.StatusUp, monitor.StatusDown, monitor.StatusPaused); err != nil {
		return f, err
	}
	return f, api.OneOf("kind", in.Kind, append([]task.Kind{task.KindHeartbeat}, task.Kinds...)...)
}

// monitorOverview serves counts and bars of monitors. Their paths are not below
// that of monitors, because a monitor may be named count or bars.
func (s *server) monitorOverview() {
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-counts", Method: http.MethodGet, Path: "/v1/monitor-counts", Scope: access.ScopeRead,
		Summary: "Count monitors by their status",
		Doc:     "It counts 10000 of them, and says if there are more.",
	}, func(ctx context.Context, c *api.Call, in *monitorFilter) (view.MonitorCount, error) {
		f, err := in.resolve(c)
		if err != nil {
			return view.MonitorCount{}, err
		}
		return s.service.CountMonitors(ctx, f)
	})

	type drawing struct {
		Namespace string          `query:"namespace" doc:"Default: the token's namespace, or default"`
		Monitors  []string        `query:"monitor" doc:"Up to 100 names, with commas between; names that are none are left out"`
		Span      monitor.BarSpan `query:"span" doc:"90d: the last 90 days of UTC, which is the default, or 24h: the last 48 half hours"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-bars", Method: http.MethodGet, Path: "/v1/monitor-bars", Scope: access.ScopeRead,
		Summary: "Show how the targets of many monitors were lately, as bars of equal length",
	}, func(ctx context.Context, c *api.Call, in *drawing) (barList, error) {
		q := monitor.BarsQuery{Monitors: in.Monitors, Span: in.Span}
		var err error
		if q.Namespace, err = c.Owner(in.Namespace, ""); err != nil {
			return barList{}, err
		}
		if err := q.Validate(); err != nil {
			return barList{}, err
		}
		all, err := s.service.Bars(ctx, q)
		for i := range all {
			all[i].Bars = api.List(all[i].Bars)
		}
		return barList{api.List(all)}, err
	})
}

func (s *server) monitorRoutes() {
	type listing struct {
		Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Status    monitor.Status `query:"status" doc:"Only monitors in this status: new, up, down or paused"`
		Kind      task.Kind      `query:"kind" doc:"Only monitors of this kind"`
		Tag       string         `query:"tag" doc:"Only monitors with this tag"`
		Search    string         `query:"search" doc:"Only monitors whose name or title has this in it, whatever its case"`
		Limit     int            `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string         `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "monitor-list", Method: http.MethodGet, Path: "/v1/monitors", Scope: access.ScopeRead,
		Summary: "List monitors by name, and how their targets are",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[view.MonitorView], error) {
		f, err := (&monitorFilter{in.Namespace, in.Status, in.Kind, in.Tag, in.Search}).resolve(c)
		if err != nil {
			return core.Page[view.MonitorView]{}, err
		}
		f.Paging = core.Paging{Limit: in.Limit, Cursor: in.Cursor}
		p, err := api.Page(s.service.Monitors(ctx, f))
		for i, v := range p.Items {
			p.Items[i], _ = shownTo(c)(v, nil)
		}
		return p, err
	})
	s.monitorOverview()

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "monitor-create", Method: http.MethodPost, Path: "/v1/monitors", Scope: access.ScopeAdmin, Created: true,
		Summary: "Create a monitor",
		Doc: "Of a heartbeat, beat in the answer is the path to be called, which needs no token: GET, HEAD or POST of it says that all is well; " +
			"/start, /fail, /log or an exit code behind it says more; a body is the message and ?rid= tells runs apart.",
	}, func(ctx context.Context, c *api.Call, in *creating, body monitorBody) (_ view.MonitorView, err error) {
		m := body.Monitor
		if m.Namespace, err = c.Owner(in.Namespace, m.Namespace); err != nil {
			return view.MonitorView{}, err
		}
		return shownTo(c)(s.service.CreateMonitor(ctx, m))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-show", Method: http.MethodGet, Path: "/v1/monitors/{name}", Scope: access.ScopeRead,
		Summary: "Show a monitor and how its target is",
		Doc:     "The path of a heartbeat is shown to those who have the scope operate.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (view.MonitorView, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		return shownTo(c)(s.service.Monitor(ctx, ns, in.Name))
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "monitor-update", Method: http.MethodPut, Path: "/v1/monitors/{name}", Scope: access.ScopeAdmin,
		Summary: "Replace a monitor",
		Doc: "What the body leaves out gets its default, not what it was before; a secret that is written as it was shown stays. " +
			"Its verdict is kept, unless it is pointed at another target.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body monitorBody) (_ view.MonitorView, err error) {
		m := body.Monitor
		if m.Name, err = api.Agree("name", in.Name, m.Name); err != nil {
			return view.MonitorView{}, err
		}
		if m.Namespace, err = c.Owner(in.Namespace, m.Namespace); err != nil {
			return view.MonitorView{}, err
		}
		return shownTo(c)(s.service.UpdateMonitor(ctx, m))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-delete", Method: http.MethodDelete, Path: "/v1/monitors/{name}", Scope: access.ScopeAdmin,
		Summary: "Delete a monitor and all that was recorded of it but its incidents",
		Doc:     "One that others depend on is kept.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (api.None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteMonitor(ctx, ns, in.Name)
	})

	s.monitorActions()
	s.monitorHistory()
}

func (s *server) monitorActions() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "monitor-pause", Method: http.MethodPost, Path: "/v1/monitors/{name}/pause", Scope: access.ScopeOperate, Bare: true,
		Summary: "Pause a monitor, for a time or until it is resumed",
		Doc:     "Time that is paused does not count for uptime.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.PauseOptions) (view.MonitorView, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		until, err := body.End(s.Options.Now())
		if err != nil {
			return view.MonitorView{}, err
		}
		return shownTo(c)(s.service.PauseMonitor(ctx, ns, in.Name, until, body.Reason))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-resume", Method: http.MethodPost, Path: "/v1/monitors/{name}/resume", Scope: access.ScopeOperate,
		Summary: "Resume a paused monitor",
		Doc:     "It is new: its next check says how its target is.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (view.MonitorView, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		return shownTo(c)(s.service.ResumeMonitor(ctx, ns, in.Name))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "monitor-check", Method: http.MethodPost, Path: "/v1/monitors/{name}/check", Scope: access.ScopeOperate, Created: true,
		Summary: "Check now, beside the plan",
		Doc:     "The result counts like others.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (job.Job, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.CheckMonitor(ctx, ns, in.Name)
	})
}
