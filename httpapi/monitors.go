package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// monitorBody is a monitor as it is written. What only an answer says may
// stand in it and means nothing, so that an answer can be sent back.
type monitorBody struct {
	monitor.Monitor
	Status monitor.Status `json:"status,omitempty" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	State  monitor.State  `json:"state,omitzero" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	NextAt time.Time      `json:"next_at,omitzero" readOnly:"true" doc:"As it was shown; nothing comes of it"`
	Beat   string         `json:"beat,omitempty" readOnly:"true" doc:"As it was shown; nothing comes of it"`
}

// shownTo is a monitor as the caller may see it. The key of a heartbeat is for
// those who may operate: with it anybody can say that all is well.
func (c *call) shownTo(v view.MonitorView, err error) (view.MonitorView, error) {
	v.Monitor = v.Redacted()
	if !access.Allows(c.token.Scopes, access.ScopeOperate) {
		v.Beat = ""
	}
	return v, err
}

// monitorFilter selects monitors.
type monitorFilter struct {
	Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	Status    monitor.Status `query:"status" doc:"Only monitors in this status: new, up, down or paused"`
	Kind      task.Kind      `query:"kind" doc:"Only monitors of this kind"`
	Tag       string         `query:"tag" doc:"Only monitors with this tag"`
	Search    string         `query:"search" doc:"Only monitors whose name has this in it, whatever its case"`
}

func (in *monitorFilter) resolve(c *call) (f view.MonitorFilter, err error) {
	f = view.MonitorFilter{Status: in.Status, Kind: in.Kind, Tag: in.Tag, Search: in.Search}
	if f.Namespace, err = inNamespace(c.token, "namespace", in.Namespace); err != nil {
		return f, err
	}
	if err := oneOf("status", in.Status, monitor.StatusNew, monitor.StatusUp, monitor.StatusDown, monitor.StatusPaused); err != nil {
		return f, err
	}
	return f, oneOf("kind", in.Kind, append([]task.Kind{task.KindHeartbeat}, task.Kinds...)...)
}

// monitorOverview is how many monitors are, at a glance. The addresses are not
// below that of a monitor: count and bars are names that one may have.
func (s *Server) monitorOverview() {
	serve(s, endpoint{
		id: "monitor-counts", method: http.MethodGet, path: "/v1/monitor-counts", scope: access.ScopeRead,
		summary: "Count monitors by their status",
		doc:     "It counts 10000 of them, and says if there are more.",
	}, func(ctx context.Context, c *call, in *monitorFilter) (view.MonitorCount, error) {
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
	serve(s, endpoint{
		id: "monitor-bars", method: http.MethodGet, path: "/v1/monitor-bars", scope: access.ScopeRead,
		summary: "Show how the targets of many monitors were lately, as bars of equal length",
	}, func(ctx context.Context, c *call, in *drawing) (barList, error) {
		q := monitor.BarsQuery{Monitors: in.Monitors, Span: in.Span}
		var err error
		if q.Namespace, err = c.owner(in.Namespace, ""); err != nil {
			return barList{}, err
		}
		if err := q.Validate(); err != nil {
			return barList{}, err
		}
		all, err := s.service.Bars(ctx, q)
		for i := range all {
			all[i].Bars = list(all[i].Bars)
		}
		return barList{list(all)}, err
	})
}

func (s *Server) monitorRoutes() {
	type listing struct {
		Namespace string         `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Status    monitor.Status `query:"status" doc:"Only monitors in this status: new, up, down or paused"`
		Kind      task.Kind      `query:"kind" doc:"Only monitors of this kind"`
		Tag       string         `query:"tag" doc:"Only monitors with this tag"`
		Search    string         `query:"search" doc:"Only monitors whose name has this in it, whatever its case"`
		Limit     int            `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string         `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "monitor-list", method: http.MethodGet, path: "/v1/monitors", scope: access.ScopeRead,
		summary: "List monitors by name, and how their targets are",
	}, func(ctx context.Context, c *call, in *listing) (core.Page[view.MonitorView], error) {
		f, err := (&monitorFilter{in.Namespace, in.Status, in.Kind, in.Tag, in.Search}).resolve(c)
		if err != nil {
			return core.Page[view.MonitorView]{}, err
		}
		f.Paging = core.Paging{Limit: in.Limit, Cursor: in.Cursor}
		p, err := page(s.service.Monitors(ctx, f))
		for i, v := range p.Items {
			p.Items[i], _ = c.shownTo(v, nil)
		}
		return p, err
	})
	s.monitorOverview()

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	serveBody(s, endpoint{
		id: "monitor-create", method: http.MethodPost, path: "/v1/monitors", scope: access.ScopeAdmin, created: true,
		summary: "Create a monitor",
		doc: "Of a heartbeat, beat in the answer is the path to be called, which needs no token: GET, HEAD or POST of it says that all is well; " +
			"/start, /fail, /log or an exit code behind it says more; a body is the message and ?rid= tells runs apart.",
	}, func(ctx context.Context, c *call, in *creating, body monitorBody) (_ view.MonitorView, err error) {
		m := body.Monitor
		if m.Namespace, err = c.owner(in.Namespace, m.Namespace); err != nil {
			return view.MonitorView{}, err
		}
		return c.shownTo(s.service.CreateMonitor(ctx, m))
	})

	serve(s, endpoint{
		id: "monitor-show", method: http.MethodGet, path: "/v1/monitors/{name}", scope: access.ScopeRead,
		summary: "Show a monitor and how its target is",
		doc:     "The path of a heartbeat is shown to those who have the scope operate.",
	}, func(ctx context.Context, c *call, in *byName) (view.MonitorView, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		return c.shownTo(s.service.Monitor(ctx, ns, in.Name))
	})

	serveBody(s, endpoint{
		id: "monitor-update", method: http.MethodPut, path: "/v1/monitors/{name}", scope: access.ScopeAdmin,
		summary: "Replace a monitor",
		doc: "What the body leaves out gets its default, not what it was before; a secret that is written as it was shown stays. " +
			"Its verdict is kept, unless it is pointed at another target.",
	}, func(ctx context.Context, c *call, in *byName, body monitorBody) (_ view.MonitorView, err error) {
		m := body.Monitor
		if m.Name, err = agree("name", in.Name, m.Name); err != nil {
			return view.MonitorView{}, err
		}
		if m.Namespace, err = c.owner(in.Namespace, m.Namespace); err != nil {
			return view.MonitorView{}, err
		}
		return c.shownTo(s.service.UpdateMonitor(ctx, m))
	})

	serve(s, endpoint{
		id: "monitor-delete", method: http.MethodDelete, path: "/v1/monitors/{name}", scope: access.ScopeAdmin,
		summary: "Delete a monitor and all that was recorded of it but its incidents",
		doc:     "One that others depend on is kept.",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteMonitor(ctx, ns, in.Name)
	})

	s.monitorActions()
	s.monitorHistory()
}

func (s *Server) monitorActions() {
	serveBody(s, endpoint{
		id: "monitor-pause", method: http.MethodPost, path: "/v1/monitors/{name}/pause", scope: access.ScopeOperate, bare: true,
		summary: "Pause a monitor, for a time or until it is resumed",
		doc:     "Time that is paused does not count for uptime.",
	}, func(ctx context.Context, c *call, in *byName, body wire.PauseOptions) (view.MonitorView, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		until, err := body.End(time.Now())
		if err != nil {
			return view.MonitorView{}, err
		}
		return c.shownTo(s.service.PauseMonitor(ctx, ns, in.Name, until, body.Reason))
	})

	serve(s, endpoint{
		id: "monitor-resume", method: http.MethodPost, path: "/v1/monitors/{name}/resume", scope: access.ScopeOperate,
		summary: "Resume a paused monitor",
		doc:     "It is new: its next check says how its target is.",
	}, func(ctx context.Context, c *call, in *byName) (view.MonitorView, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return view.MonitorView{}, err
		}
		return c.shownTo(s.service.ResumeMonitor(ctx, ns, in.Name))
	})

	serve(s, endpoint{
		id: "monitor-check", method: http.MethodPost, path: "/v1/monitors/{name}/check", scope: access.ScopeOperate, created: true,
		summary: "Check now, beside the plan",
		doc:     "The result counts like others.",
	}, func(ctx context.Context, c *call, in *byName) (job.Job, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.CheckMonitor(ctx, ns, in.Name)
	})
}
