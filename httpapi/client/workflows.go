package client

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

// WorkflowCalls are the calls about runs of workflows.
type WorkflowCalls struct{ server *server }

// WorkflowRun implements [httpapi.Workflows].
func (c WorkflowCalls) WorkflowRun(ctx context.Context, namespace string, id int64) (workflow.Status, error) {
	return get[workflow.Status](ctx, c.server, numbered("workflow-runs", id), words("namespace", namespace))
}

// WorkflowItems implements [httpapi.Workflows].
func (c WorkflowCalls) WorkflowItems(ctx context.Context, namespace string, id int64, step string, p core.Paging) (core.Page[workflow.Item], error) {
	return get[core.Page[workflow.Item]](ctx, c.server, numbered("workflow-runs", id, "items"), paged(p, words("namespace", namespace, "step", step)))
}

// SendSignal implements [httpapi.Workflows]. If the server cannot be reached, it is repeated if the signal has an ID.
func (c WorkflowCalls) SendSignal(ctx context.Context, namespace string, id int64, s workflow.Signal) (sent workflow.Sent, err error) {
	err = c.server.do(ctx, ask{method: http.MethodPost, path: numbered("workflow-runs", id, "signals"), query: words("namespace", namespace), body: s, again: s.ID != ""}, &sent)
	return sent, err
}

// MakeLink implements [httpapi.Workflows].
func (c WorkflowCalls) MakeLink(ctx context.Context, namespace string, id int64, l job.Link) (job.NewLink, error) {
	return put[job.NewLink](ctx, c.server, http.MethodPost, numbered("workflow-runs", id, "links"), words("namespace", namespace), l)
}

// DeleteLinks implements [httpapi.Workflows].
func (c WorkflowCalls) DeleteLinks(ctx context.Context, namespace string, id int64, name string) (job.Unlinked, error) {
	return put[job.Unlinked](ctx, c.server, http.MethodDelete, numbered("workflow-runs", id, "links"), words("namespace", namespace, "name", name), nil)
}

// RetryWorkflow implements [httpapi.Workflows]. If the server cannot be reached, it is repeated
// only with an idempotency key.
func (c WorkflowCalls) RetryWorkflow(ctx context.Context, namespace string, id int64, r workflow.Retrying) (existing bool, err error) {
	var out workflow.Retried
	err = c.server.do(ctx, ask{method: http.MethodPost, path: numbered("workflow-runs", id, "retry"), query: words("namespace", namespace), body: r, again: r.Key != ""}, &out)
	return out.Existing, err
}
