package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
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

func (in *byMember) resolve(c *call) (namespace string, err error) {
	if err := core.ValidName("member", in.Member); err != nil {
		return "", err
	}
	return (&byName{in.Name, in.Namespace}).resolve(c)
}

func shownCycle(s cycle.Status, err error) (cycle.Status, error) {
	s.Task = s.Task.Redacted()
	s.Members = list(s.Members)
	return s, err
}

func (s *Server) cycleRoutes() {
	serve(s, endpoint{
		id: "cycle-list", method: http.MethodGet, path: "/v1/cycles", scope: access.ScopeRead,
		summary: "List cycles by name, and where they stand",
		doc:     "A cycle is a task of the kind cycle: it is saved under /v1/tasks, and schedules of it say when it runs.",
	}, func(ctx context.Context, c *call, in *namespaced) (core.Page[cycle.Status], error) {
		f, err := in.filter(c)
		if err != nil {
			return core.Page[cycle.Status]{}, err
		}
		p, err := page(s.service.Cycles(ctx, f))
		for i, item := range p.Items {
			p.Items[i], _ = shownCycle(item, nil)
		}
		return p, err
	})

	serve(s, endpoint{
		id: "cycle-show", method: http.MethodGet, path: "/v1/cycles/{name}", scope: access.ScopeRead,
		summary: "Show a cycle, its run under way, and which members are due",
	}, func(ctx context.Context, c *call, in *byName) (cycle.Status, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return cycle.Status{}, err
		}
		return shownCycle(s.service.CycleStatus(ctx, ns, in.Name))
	})

	serve(s, endpoint{
		id: "cycle-member", method: http.MethodGet, path: "/v1/cycles/{name}/members/{member}", scope: access.ScopeRead,
		summary: "Explain why a member is due or not",
	}, func(ctx context.Context, c *call, in *byMember) (cycle.MemberStatus, error) {
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

func (s *Server) cycleActions() {
	serve(s, endpoint{
		id: "cycle-run", method: http.MethodPost, path: "/v1/cycles/{name}/run", scope: access.ScopeOperate, created: true,
		summary: "Run a cycle now, beside its plan",
		doc:     "One that is under way, or about to be, is not begun a second time. Members that are not due are left out.",
	}, func(ctx context.Context, c *call, in *byName) (job.Job, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return job.Job{}, err
		}
		return s.service.RunCycle(ctx, ns, in.Name)
	})

	serveBody(s, endpoint{
		id: "cycle-cancel", method: http.MethodPost, path: "/v1/cycles/{name}/cancel", scope: access.ScopeOperate, bare: true,
		summary: "End the run of a cycle that is under way, and the member that runs",
	}, func(ctx context.Context, c *call, in *byName, body wire.JobNote) (view.Selected, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return view.Selected{}, err
		}
		done, err := s.service.CancelCycle(ctx, ns, in.Name, body.Note)
		done.IDs = list(done.IDs)
		return done, err
	})

	serve(s, endpoint{
		id: "cycle-skip", method: http.MethodPost, path: "/v1/cycles/{name}/members/{member}/skip", scope: access.ScopeOperate,
		summary: "Leave a member out of the run under way",
		doc:     "If it runs, it is asked to end.",
	}, func(ctx context.Context, c *call, in *byMember) (cycle.Run, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return cycle.Run{}, err
		}
		return s.service.SkipMember(ctx, ns, in.Name, in.Member)
	})

	serveBody(s, endpoint{
		id: "cycle-reset", method: http.MethodPost, path: "/v1/cycles/{name}/reset-timing", scope: access.ScopeOperate, bare: true,
		summary: "Forget when members last succeeded, so that they are due",
		doc:     "It is forgotten for every cycle that has them.",
	}, func(ctx context.Context, c *call, in *byName, body wire.MemberNames) (wire.TimingReset, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return wire.TimingReset{}, err
		}
		reset, err := s.service.ResetTiming(ctx, ns, in.Name, body.Members...)
		return wire.TimingReset{Members: list(reset)}, err
	})
}
