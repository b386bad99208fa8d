package tasks

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// byMember names one member of a cycle.
type byMember struct {
	Name      string `path:"name"`
	Member    string `path:"member" doc:"Name of its task"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byMember) resolve(c *api.Call) (namespace string, err error) {
	if err := core.ValidName("member", in.Member); err != nil {
		return "", err
	}
	return (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
}

func shownCycle(s cycle.Status, err error) (cycle.Status, error) {
	s.Task = s.Task.Redacted()
	s.Members = api.List(s.Members)
	return s, err
}

func (s *server) cycleRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "cycle-list", Method: http.MethodGet, Path: "/v1/cycles", Scope: access.ScopeRead,
		Summary: "List cycles by name, and where they stand",
		Doc:     "A cycle is a task of the kind cycle: it is saved under /v1/tasks, and schedules of it say when it runs.",
	}, func(ctx context.Context, c *api.Call, in *api.Namespaced) (core.Page[cycle.Status], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[cycle.Status]{}, err
		}
		p, err := api.Page(s.service.Cycles(ctx, f))
		for i, item := range p.Items {
			p.Items[i], _ = shownCycle(item, nil)
		}
		return p, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "cycle-show", Method: http.MethodGet, Path: "/v1/cycles/{name}", Scope: access.ScopeRead,
		Summary: "Show a cycle, its run under way, and which members are due",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (cycle.Status, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return cycle.Status{}, err
		}
		return shownCycle(s.service.CycleStatus(ctx, ns, in.Name))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "cycle-member", Method: http.MethodGet, Path: "/v1/cycles/{name}/members/{member}", Scope: access.ScopeRead,
		Summary: "Explain why a member is due or not",
	}, func(ctx context.Context, c *api.Call, in *byMember) (cycle.MemberStatus, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return cycle.MemberStatus{}, err
		}
		status, err := s.service.CycleStatus(ctx, ns, in.Name)
		if err != nil {
			return cycle.MemberStatus{}, err
		}
		for _, m := range status.Members {
			if m.Task == in.Member {
				return m, nil
			}
		}
		return cycle.MemberStatus{}, core.Errorf(core.NotFound, "cycle %q has no member %q", in.Name, in.Member)
	})

	s.cycleActions()
}

func (s *server) cycleActions() {
	api.Serve(s.API, api.Endpoint{
		Id: "cycle-run", Method: http.MethodPost, Path: "/v1/cycles/{name}/run", Scope: access.ScopeOperate, Created: true,
		Summary: "Run a cycle now, beside its plan",
		Doc:     "One that is under way, or about to be, is not begun a second time. Members that are not due are left out.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (job.Job, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.RunCycle(ctx, ns, in.Name)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "cycle-cancel", Method: http.MethodPost, Path: "/v1/cycles/{name}/cancel", Scope: access.ScopeOperate, Bare: true,
		Summary: "End the run of a cycle that is under way, and the member that runs",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.JobNote) (view.Selected, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.Selected{}, err
		}
		done, err := s.service.CancelCycle(ctx, ns, in.Name, body.Note)
		done.IDs = api.List(done.IDs)
		return done, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "cycle-skip", Method: http.MethodPost, Path: "/v1/cycles/{name}/members/{member}/skip", Scope: access.ScopeOperate,
		Summary: "Leave a member out of the run under way",
		Doc:     "If it runs, it is asked to end.",
	}, func(ctx context.Context, c *api.Call, in *byMember) (cycle.Run, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return cycle.Run{}, err
		}
		return s.service.SkipMember(ctx, ns, in.Name, in.Member)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "cycle-reset", Method: http.MethodPost, Path: "/v1/cycles/{name}/reset-timing", Scope: access.ScopeOperate, Bare: true,
		Summary: "Forget when members last succeeded, so that they are due",
		Doc:     "It is forgotten for every cycle that has them.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.MemberNames) (wire.TimingReset, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return wire.TimingReset{}, err
		}
		reset, err := s.service.ResetTiming(ctx, ns, in.Name, body.Members...)
		return wire.TimingReset{Members: api.List(reset)}, err
	})
}
