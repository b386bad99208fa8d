package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry"
)

// memberNames are those of a cycle's members.
type memberNames struct {
	Members []string `json:"members,omitempty" doc:"Default: all members of the cycle"`
}

// timingReset is whose timing was forgotten.
type timingReset struct {
	Members []string `json:"members" doc:"They are due"`
}

// byMember names one member of a cycle.
type byMember struct {
	Name      string `path:"name"`
	Member    string `path:"member" doc:"Name of its task"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byMember) resolve(c *call) (namespace string, err error) {
	if err := belfry.CheckName("member", in.Member); err != nil {
		return "", err
	}
	return (&byName{in.Name, in.Namespace}).resolve(c)
}

func shownCycle(s belfry.CycleStatus, err error) (belfry.CycleStatus, error) {
	s.Task = s.Task.Redacted()
	s.Members = list(s.Members)
	return s, err
}

func (s *Server) cycleRoutes() {
	serve(s, endpoint{
		id: "cycle-list", method: http.MethodGet, path: "/v1/cycles", scope: belfry.ScopeRead,
		summary: "List cycles by name, and where they stand",
		doc:     "A cycle is a task of the kind cycle: it is saved under /v1/tasks, and schedules of it say when it runs.",
	}, func(ctx context.Context, c *call, in *namespaced) (belfry.Page[belfry.CycleStatus], error) {
		f, err := in.filter(c)
		if err != nil {
			return belfry.Page[belfry.CycleStatus]{}, err
		}
		p, err := page(s.service.Cycles(ctx, f))
		for i, item := range p.Items {
			p.Items[i], _ = shownCycle(item, nil)
		}
		return p, err
	})

	serve(s, endpoint{
		id: "cycle-show", method: http.MethodGet, path: "/v1/cycles/{name}", scope: belfry.ScopeRead,
		summary: "Show a cycle, its run under way, and which members are due",
	}, func(ctx context.Context, c *call, in *byName) (belfry.CycleStatus, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.CycleStatus{}, err
		}
		return shownCycle(s.service.CycleStatus(ctx, ns, in.Name))
	})

	serve(s, endpoint{
		id: "cycle-member", method: http.MethodGet, path: "/v1/cycles/{name}/members/{member}", scope: belfry.ScopeRead,
		summary: "Explain why a member is due or not",
	}, func(ctx context.Context, c *call, in *byMember) (belfry.MemberStatus, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.MemberStatus{}, err
		}
		status, err := s.service.CycleStatus(ctx, ns, in.Name)
		if err != nil {
			return belfry.MemberStatus{}, err
		}
		for _, m := range status.Members {
			if m.Task == in.Member {
				return m, nil
			}
		}
		return belfry.MemberStatus{}, belfry.Errorf(belfry.NotFound, "cycle %q has no member %q", in.Name, in.Member)
	})

	s.cycleActions()
}

func (s *Server) cycleActions() {
	serve(s, endpoint{
		id: "cycle-run", method: http.MethodPost, path: "/v1/cycles/{name}/run", scope: belfry.ScopeOperate, created: true,
		summary: "Run a cycle now, beside its plan",
		doc:     "One that is under way, or about to be, is not begun a second time. Members that are not due are left out.",
	}, func(ctx context.Context, c *call, in *byName) (belfry.Job, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.Job{}, err
		}
		return s.service.RunCycle(ctx, ns, in.Name)
	})

	serveBody(s, endpoint{
		id: "cycle-cancel", method: http.MethodPost, path: "/v1/cycles/{name}/cancel", scope: belfry.ScopeOperate, bare: true,
		summary: "End the run of a cycle that is under way, and the member that runs",
	}, func(ctx context.Context, c *call, in *byName, body jobNote) (belfry.Selected, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.Selected{}, err
		}
		done, err := s.service.CancelCycle(ctx, ns, in.Name, body.Note)
		done.IDs = list(done.IDs)
		return done, err
	})

	serve(s, endpoint{
		id: "cycle-skip", method: http.MethodPost, path: "/v1/cycles/{name}/members/{member}/skip", scope: belfry.ScopeOperate,
		summary: "Leave a member out of the run under way",
		doc:     "If it runs, it is asked to end.",
	}, func(ctx context.Context, c *call, in *byMember) (belfry.CycleRun, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.CycleRun{}, err
		}
		return s.service.SkipMember(ctx, ns, in.Name, in.Member)
	})

	serveBody(s, endpoint{
		id: "cycle-reset", method: http.MethodPost, path: "/v1/cycles/{name}/reset-timing", scope: belfry.ScopeOperate, bare: true,
		summary: "Forget when members last succeeded, so that they are due",
		doc:     "It is forgotten for every cycle that has them.",
	}, func(ctx context.Context, c *call, in *byName, body memberNames) (timingReset, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return timingReset{}, err
		}
		reset, err := s.service.ResetTiming(ctx, ns, in.Name, body.Members...)
		return timingReset{list(reset)}, err
	})
}
