package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// readyTimeout limits the checks of /readyz.
const readyTimeout = 5 * time.Second

func (s *server) healthRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "health-show", Method: http.MethodGet, Path: "/v1/health", Scope: access.ScopeRead,
		Summary: "Show the state of this node and its database",
		Doc:     "A token for one namespace sees the workers that run its jobs, and no lag.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (view.Health, error) {
		h, err := s.service.Health(ctx)
		if err != nil {
			return h, err
		}
		return s.ownHealth(ctx, c.Token, h)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "database-show", Method: http.MethodGet, Path: "/v1/database", Scope: access.ScopeAdmin,
		Summary: "Show the state of the database: its size, backlog, dead rows, old transactions, and what to do about them",
		Doc:     "Numbers of rows are estimates; only the secrets that this node cannot open are counted. No text of any statement is shown. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (view.DatabaseHealth, error) {
		if err := api.Everywhere(c.Token, "figures of the database"); err != nil {
			return view.DatabaseHealth{}, err
		}
		d, err := s.service.DatabaseHealth(ctx)
		d.Tables, d.Checks = api.List(d.Tables), api.List(d.Checks)
		return d, err
	})
}

// readiness is the answer of /readyz, which needs no token. It names faults, but
// hides error texts of the database.
type readiness struct {
	Ready  bool         `json:"ready"`
	Checks []core.Check `json:"checks"`
}

func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	// The answer is cached: a prober that disconnects must not cancel it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), readyTimeout)
	defer cancel()
	answer := s.readiness(ctx)
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	api.WriteJSON(w, status, answer)
}

// healthMemo caches the last answer for a while: /readyz needs no token, and its
// callers must not load the database.
type healthMemo struct {
	mu    sync.Mutex
	at    time.Time
	state view.Health
	err   error
}

func (m *healthMemo) get(ctx context.Context, s Health, keep time.Duration) (view.Health, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.at.IsZero() || now.Sub(m.at) > keep {
		m.state, m.err = s.Health(ctx)
		m.at = time.Now()
	}
	return m.state, m.err
}

func (s *server) readiness(ctx context.Context) readiness {
	h, err := s.state.get(ctx, s.service, s.Health)
	if err != nil {
		s.Fail(ctx, core.Errorf(core.Unavailable, "health: %w", err))
		return readiness{Checks: []core.Check{{Name: "database", Detail: "does not answer", Fix: "look at the server's log"}}}
	}
	answer := readiness{Ready: true, Checks: []core.Check{h.Room(), h.Schema().Check(), s.lagCheck(h)}}
	answer.Ready = answer.Checks[0].OK && answer.Checks[1].OK && (answer.Checks[2].OK || s.opts.MaxLag == 0)
	if quiet := h.Quiet(); !quiet.OK { // which no other node can cure
		answer.Checks = append(answer.Checks, quiet)
	}
	if s.opts.Unwell != nil {
		answer.Checks = append(answer.Checks, workerCheck(s.opts.Unwell()))
	}
	if s.opts.LeftBehind != nil {
		answer.Checks = append(answer.Checks, leftCheck(s.opts.LeftBehind()))
	}
	if s.opts.Check != nil {
		answer.Checks = append(answer.Checks, s.opts.Check())
	}
	if s.opts.Ready == nil {
		return answer
	}
	node := core.Check{Name: "node", OK: true}
	if err := s.opts.Ready(ctx); err != nil {
		if core.CodeOf(err) == core.Unavailable { // it starts or stops, which it logs itself
			s.API.Options.Logger.Debug("not ready", "reason", err)
		} else {
			s.Fail(ctx, core.Errorf(core.Unavailable, "ready: %w", err))
		}
		node.OK, node.Detail, answer.Ready = false, "is not ready", false
	}
	answer.Checks = append(answer.Checks, node)
	return answer
}

// workerCheck names the exhausted resources of this machine, without details: callers need no token.
func workerCheck(unwell map[task.Kind]string) core.Check {
	if len(unwell) == 0 {
		return core.Check{Name: "worker", OK: true}
	}
	kinds := make([]string, 0, len(unwell))
	for kind := range unwell {
		kinds = append(kinds, string(kind))
	}
	slices.Sort(kinds)
	return core.Check{
		Name:   "worker",
		Detail: "cannot begin jobs of kind " + strings.Join(kinds, ", ") + ", and hands them back",
		Fix:    "look at the server's log: this machine has run out of open files, processes, memory or room on its disk",
	}
}

func leftCheck(attempts, alerts int) core.Check {
	if attempts+alerts == 0 {
		return core.Check{Name: "left behind", OK: true}
	}
	return core.Check{
		Name:   "left behind",
		Detail: fmt.Sprintf("run on though they had to stop: attempts of jobs: %d, tries of alerts: %d", attempts, alerts),
		Fix:    `look for "left behind" in the server's log; a restart of the node ends them`,
	}
}

// shownLag is the scheduler lag from which it is reported.
const shownLag = 10 * time.Second

func (s *server) lagCheck(h view.Health) core.Check {
	limit := s.opts.MaxLag
	if limit == 0 {
		limit = shownLag
	}
	if h.ScheduleLag <= limit {
		return core.Check{Name: "schedules", OK: true}
	}
	return core.Check{
		Name:   "schedules",
		Detail: fmt.Sprintf("the most overdue is %s late", h.ScheduleLag.Round(time.Second)),
		Fix:    "start a node with the role engine; if one runs, see its log and load",
	}
}

// ownHealth returns the state of a node without figures of other namespaces.
func (s *server) ownHealth(ctx context.Context, t access.Token, h view.Health) (view.Health, error) {
	if api.EveryFigure(t) {
		return h, nil
	}
	workers, err := s.service.Workers(ctx, false)
	h.Workers, h.ScheduleLag, h.QuietUntil = len(api.OwnWorkers(t, workers)), 0, time.Time{}
	return h, err
}
