package httpapi

import (
	"context"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/app/httpapi/internal/apitest"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/cycle"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// What a [fake] answers about cycles.

func (f *fake) CycleStatus(ctx context.Context, ns, name string) (cycle.Status, error) {
	return reply[cycle.Status](ctx, f, "CycleStatus", ns, name)
}

func (f *fake) Cycles(ctx context.Context, q view.DocumentFilter) (core.Page[cycle.Status], error) {
	return reply[core.Page[cycle.Status]](ctx, f, "Cycles", q)
}

func (f *fake) RunCycle(ctx context.Context, ns, name string) (job.Job, error) {
	return reply[job.Job](ctx, f, "RunCycle", ns, name)
}

func (f *fake) CancelCycle(ctx context.Context, ns, name, note string) (view.Selected, error) {
	return reply[view.Selected](ctx, f, "CancelCycle", ns, name, note)
}

func (f *fake) SkipMember(ctx context.Context, ns, c, member string) (cycle.Run, error) {
	return reply[cycle.Run](ctx, f, "SkipMember", ns, c, member)
}

func (f *fake) ResetTiming(ctx context.Context, ns, cycle string, members ...string) ([]string, error) {
	return reply[[]string](ctx, f, "ResetTiming", ns, cycle, members)
}

// cycleCalls are those about cycles.
func cycleCalls(c *client.Client) []exchange {
	shown := apitest.Filled[cycle.Status]()
	shown.Task = shown.Task.Redacted()
	all := view.DocumentFilter{Paging: core.Paging{Limit: 7, Cursor: "a/b+c=&"}, Namespace: "*"}
	return []exchange{
		{[]any{"CycleStatus", "ns", "n"}, shown,
			func(ctx context.Context) (any, error) { return c.CycleStatus(ctx, "ns", "n") }},
		{[]any{"Cycles", all}, pageOf(shown),
			func(ctx context.Context) (any, error) { return c.Cycles(ctx, all) }},
		{[]any{"RunCycle", "ns", "n"}, apitest.Filled[job.Job](),
			func(ctx context.Context) (any, error) { return c.RunCycle(ctx, "ns", "n") }},
		{[]any{"CancelCycle", "ns", "n", "because"}, apitest.Filled[view.Selected](),
			func(ctx context.Context) (any, error) { return c.CancelCycle(ctx, "ns", "n", "because") }},
		{[]any{"SkipMember", "ns", "n", "m"}, apitest.Filled[cycle.Run](),
			func(ctx context.Context) (any, error) { return c.SkipMember(ctx, "ns", "n", "m") }},
		{[]any{"ResetTiming", "ns", "n", []string{"m", "o"}}, apitest.Filled[[]string](),
			func(ctx context.Context) (any, error) { return c.ResetTiming(ctx, "ns", "n", "m", "o") }},
		{[]any{"ResetTiming", "ns", "n", []string(nil)}, apitest.Filled[[]string](),
			func(ctx context.Context) (any, error) { return c.ResetTiming(ctx, "ns", "n") }},
		{[]any{"CycleStatus", "ns", "n"}, shown.Members[0],
			func(ctx context.Context) (any, error) { return c.CycleMember(ctx, "ns", "n", "a1") }},
	}
}

func TestNamesInThePathsOfCyclesAreNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, err := range map[string]error{
		"cycle": second(b.client.CycleStatus(t.Context(), "", "../tasks")), "run": second(b.client.RunCycle(t.Context(), "", "a/b")),
		"cancel": second(b.client.CancelCycle(t.Context(), "", "", "")), "reset": second(b.client.ResetTiming(t.Context(), "", "?")),
		"skip": second(b.client.SkipMember(t.Context(), "", "n", "../x")), "member": second(b.client.CycleMember(t.Context(), "", "n", "")),
	} {
		if core.CodeOf(err) != core.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	p := b.refused(t, 422, "POST", "/v1/cycles/c/members/A%20B/skip", "")
	if len(p.Errors) != 1 || p.Errors[0].Field != "member" {
		t.Errorf("%+v", p)
	}
	if p = b.refused(t, 422, "POST", "/v1/cycles/c/reset-timing", `{"member":"a"}`); !strings.Contains(p.Errors[0].Hint, "members") {
		t.Errorf("%+v", p)
	}
}

func second[T any](_ T, err error) error { return err }
