package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry"
)

// CycleStatus implements [Cycles].
func (c *Client) CycleStatus(ctx context.Context, namespace, name string) (belfry.CycleStatus, error) {
	if err := checked("name", name); err != nil {
		return belfry.CycleStatus{}, err
	}
	return get[belfry.CycleStatus](ctx, c, named("cycles", name), words("namespace", namespace))
}

// Cycles implements [Cycles].
func (c *Client) Cycles(ctx context.Context, f belfry.DocumentFilter) (belfry.Page[belfry.CycleStatus], error) {
	return get[belfry.Page[belfry.CycleStatus]](ctx, c, "/v1/cycles", paged(f.Paging, words("namespace", f.Namespace)))
}

// RunCycle implements [Cycles].
func (c *Client) RunCycle(ctx context.Context, namespace, name string) (belfry.Job, error) {
	return toCycle[belfry.Job](ctx, c, namespace, name, nil, "run")
}

// CancelCycle implements [Cycles].
func (c *Client) CancelCycle(ctx context.Context, namespace, name, note string) (belfry.Selected, error) {
	return toCycle[belfry.Selected](ctx, c, namespace, name, jobNote{Note: note}, "cancel")
}

// SkipMember implements [Cycles].
func (c *Client) SkipMember(ctx context.Context, namespace, cycle, member string) (belfry.CycleRun, error) {
	if err := checked("member", member); err != nil {
		return belfry.CycleRun{}, err
	}
	return toCycle[belfry.CycleRun](ctx, c, namespace, cycle, nil, "members", member, "skip")
}

// ResetTiming implements [Cycles].
func (c *Client) ResetTiming(ctx context.Context, namespace, cycle string, members ...string) ([]string, error) {
	done, err := toCycle[timingReset](ctx, c, namespace, cycle, memberNames{members}, "reset-timing")
	return done.Members, err
}

// CycleMember says why a member is due or not. It is no part of [Service]:
// CycleStatus says the same and more.
func (c *Client) CycleMember(ctx context.Context, namespace, cycle, member string) (belfry.MemberStatus, error) {
	if err := checked("name", cycle); err != nil {
		return belfry.MemberStatus{}, err
	}
	if err := checked("member", member); err != nil {
		return belfry.MemberStatus{}, err
	}
	return get[belfry.MemberStatus](ctx, c, named("cycles", cycle, "members", member), words("namespace", namespace))
}

func toCycle[T any](ctx context.Context, c *Client, namespace, cycle string, body any, verb ...string) (T, error) {
	if err := checked("name", cycle); err != nil {
		var zero T
		return zero, err
	}
	return put[T](ctx, c, http.MethodPost, named("cycles", cycle, verb...), words("namespace", namespace), body)
}
