package client

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// CycleCalls are the calls about cycles.
type CycleCalls struct{ server *server }

// CycleStatus implements [httpapi.Cycles].
func (c CycleCalls) CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error) {
	if err := checked("name", name); err != nil {
		return cycle.Status{}, err
	}
	return get[cycle.Status](ctx, c.server, named("cycles", name), words("namespace", namespace))
}

// Cycles implements [httpapi.Cycles].
func (c CycleCalls) Cycles(ctx context.Context, f view.DocumentFilter) (core.Page[cycle.Status], error) {
	return get[core.Page[cycle.Status]](ctx, c.server, "/v1/cycles", paged(f.Paging, words("namespace", f.Namespace)))
}

// RunCycle implements [httpapi.Cycles].
func (c CycleCalls) RunCycle(ctx context.Context, namespace, name string) (job.Job, error) {
	return toCycle[job.Job](ctx, c.server, namespace, name, nil, "run")
}

// CancelCycle implements [httpapi.Cycles].
func (c CycleCalls) CancelCycle(ctx context.Context, namespace, name, note string) (view.Selected, error) {
	return toCycle[view.Selected](ctx, c.server, namespace, name, wire.JobNote{Note: note}, "cancel")
}

// SkipMember implements [httpapi.Cycles].
func (c CycleCalls) SkipMember(ctx context.Context, namespace, cy, member string) (cycle.Run, error) {
	if err := checked("member", member); err != nil {
		return cycle.Run{}, err
	}
	return toCycle[cycle.Run](ctx, c.server, namespace, cy, nil, "members", member, "skip")
}

// ResetTiming implements [httpapi.Cycles].
func (c CycleCalls) ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error) {
	done, err := toCycle[wire.TimingReset](ctx, c.server, namespace, cycle, wire.MemberNames{Members: members}, "reset-timing")
	return done.Members, err
}

// CycleMember returns whether a member is due, and why. It is not part of
// [httpapi.Service]; CycleStatus returns the same and more.
func (c CycleCalls) CycleMember(ctx context.Context, namespace, cy, member string) (cycle.MemberStatus, error) {
	if err := checked("name", cy); err != nil {
		return cycle.MemberStatus{}, err
	}
	if err := checked("member", member); err != nil {
		return cycle.MemberStatus{}, err
	}
	return get[cycle.MemberStatus](ctx, c.server, named("cycles", cy, "members", member), words("namespace", namespace))
}

func toCycle[T any](ctx context.Context, c *server, namespace, cycle string, body any, verb ...string) (T, error) {
	if err := checked("name", cycle); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPost, named("cycles", cycle, verb...), words("namespace", namespace), body)
}
