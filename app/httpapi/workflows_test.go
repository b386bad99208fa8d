package httpapi

import (
	"context"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

func (f *fake) WorkflowRun(ctx context.Context, namespace string, id int64) (workflow.Status, error) {
	return reply[workflow.Status](ctx, f, "WorkflowRun", namespace, id)
}

func (f *fake) WorkflowItems(ctx context.Context, namespace string, id int64, step string, p core.Paging) (core.Page[workflow.Item], error) {
	return reply[core.Page[workflow.Item]](ctx, f, "WorkflowItems", namespace, id, step, p)
}

func (f *fake) SendSignal(ctx context.Context, namespace string, id int64, s workflow.Signal) (workflow.Sent, error) {
	return reply[workflow.Sent](ctx, f, "SendSignal", namespace, id, s)
}

func (f *fake) MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error) {
	return reply[job.NewLink](ctx, f, "MakeLink", namespace, id, l)
}

func (f *fake) DeleteLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error) {
	return reply[job.Unlinked](ctx, f, "DeleteLinks", namespace, id, name)
}

func (f *fake) Linked(ctx context.Context, key string) (workflow.Linked, error) {
	return reply[workflow.Linked](ctx, f, "Linked", key)
}

func (f *fake) SendByLink(ctx context.Context, key string, s workflow.Signal) (workflow.Sent, error) {
	return reply[workflow.Sent](ctx, f, "SendByLink", key, s)
}

func (f *fake) RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) (bool, error) {
	return reply[bool](ctx, f, "RetryWorkflow", namespace, id, r)
}
