package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// work has a worker run what is ready.
func (s *scene) work(ctx context.Context, outcome job.Outcome) (any, error) {
	s.clock.Move(time.Second)
	if s.worker == "" {
		w, err := s.OpenSession(ctx, job.WorkerInfo{Name: "w", Namespace: core.AnyNamespace, Kinds: []task.Kind{task.KindFunc}, Funcs: []string{"a", "b"}, Queues: map[string]int{"default": 5}})
		if err != nil {
			return nil, err
		}
		s.worker = w.ID
	}
	if _, err := s.store.StartCycles(ctx); err != nil {
		return nil, err
	}
	claim, err := s.Claim(ctx, job.ClaimRequest{Session: s.worker, Want: map[string]int{"default": 5}})
	if err != nil || len(claim.Jobs) == 0 {
		return "nothing was claimed", err
	}
	j := claim.Jobs[0].Job
	s.clock.Move(time.Second)
	if outcome == "" {
		return j.Task, nil
	}
	_, err = s.Finish(ctx, s.worker, []job.Finish{{Ref: job.Ref{JobID: j.ID, Lease: claim.Lease}, Outcome: outcome}})
	return j.Task, err
}

// cycleSteps is a life of a cycle.
func cycleSteps() []step {
	const ns = "team"
	t := func(name string) step {
		return step{"task " + name, func(ctx context.Context, s *scene) (any, error) {
			return s.CreateTask(ctx, task.Task{Namespace: ns, Name: name, Kind: task.KindFunc})
		}}
	}
	cycle := task.Task{Namespace: ns, Name: "all", Cycle: &task.Cycle{Members: []task.Member{
		{Task: "a", Every: core.Duration(time.Hour), MaxAttempts: 1}, {Task: "b", MaxAttempts: 1, OnFailure: task.FailureStop},
	}}}
	show := step{"show", func(ctx context.Context, s *scene) (any, error) { return s.CycleStatus(ctx, ns, "all") }}
	run := step{"run", func(ctx context.Context, s *scene) (any, error) { return s.RunCycle(ctx, ns, "all") }}
	work := func(outcome job.Outcome) step {
		return step{"work", func(ctx context.Context, s *scene) (any, error) { return s.work(ctx, outcome) }}
	}
	return []step{
		t("a"), t("b"), t("c"),
		{"create", func(ctx context.Context, s *scene) (any, error) { return s.CreateTask(ctx, cycle) }},
		{"create of nothing", func(ctx context.Context, s *scene) (any, error) {
			return s.CreateTask(ctx, task.Task{Namespace: ns, Name: "x", Cycle: &task.Cycle{Members: []task.Member{{Task: "none"}}}})
		}},
		show,
		{"show what is no cycle", func(ctx context.Context, s *scene) (any, error) { return s.CycleStatus(ctx, ns, "a") }},
		{"show none", func(ctx context.Context, s *scene) (any, error) { return s.CycleStatus(ctx, ns, "none") }},
		{"cancel what does not run", func(ctx context.Context, s *scene) (any, error) { return s.CancelCycle(ctx, ns, "all", "") }},
		{"skip in what does not run", func(ctx context.Context, s *scene) (any, error) { return s.SkipMember(ctx, ns, "all", "a") }},
		run, run, work(job.OutcomeOK), show,
		{"why", func(ctx context.Context, s *scene) (any, error) { return s.Why(ctx, ns, 1) }},
		{"skip what is done", func(ctx context.Context, s *scene) (any, error) { return s.SkipMember(ctx, ns, "all", "a") }},
		{"skip nobody", func(ctx context.Context, s *scene) (any, error) { return s.SkipMember(ctx, ns, "all", "c") }},
		work(job.OutcomeError), show,
		{"job", func(ctx context.Context, s *scene) (any, error) { return s.Job(ctx, ns, 1) }},
		{"list", func(ctx context.Context, s *scene) (any, error) {
			return s.Cycles(ctx, view.DocumentFilter{Namespace: core.AnyNamespace, Paging: core.Paging{Limit: 1}})
		}},
		{"list with a bad cursor", func(ctx context.Context, s *scene) (any, error) {
			return s.Cycles(ctx, view.DocumentFilter{Namespace: ns, Paging: core.Paging{Cursor: "x"}})
		}},
		run,
		{"begin", func(ctx context.Context, s *scene) (any, error) { return s.store.StartCycles(ctx) }},
		{"skip", func(ctx context.Context, s *scene) (any, error) { return s.SkipMember(ctx, ns, "all", "b") }},
		show,
		{"reset nobody", func(ctx context.Context, s *scene) (any, error) { return s.ResetTiming(ctx, ns, "all", "c") }},
		{"reset", func(ctx context.Context, s *scene) (any, error) { return s.ResetTiming(ctx, ns, "all", "a") }},
		{"reset all", func(ctx context.Context, s *scene) (any, error) { return s.ResetTiming(ctx, ns, "all") }},
		run, work(""),
		{"cancel", func(ctx context.Context, s *scene) (any, error) { return s.CancelCycle(ctx, ns, "all", "enough") }},
		show,
		{"audit", func(ctx context.Context, s *scene) (any, error) {
			return s.Audit(ctx, access.AuditFilter{Namespace: ns, Paging: core.Paging{Limit: 1000}})
		}},
		{"delete a member", func(ctx context.Context, s *scene) (any, error) { return nil, s.DeleteTask(ctx, ns, "a") }},
	}
}

// TestCyclesOverHTTPAreAsInTheStore lives the same life twice.
func TestCyclesOverHTTPAreAsInTheStore(t *testing.T) {
	t.Parallel()
	alike(t, cycleSteps())
}
