package tasks

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/workflow"
)

// itemsOf asks for the jobs of a step.
type itemsOf struct {
	api.ByID
	Step   string `query:"step" doc:"Name of the step; required"`
	Limit  int    `query:"limit" doc:"Default: 100; at most 1000"`
	Cursor string `query:"cursor" doc:"From next of the page before"`
}

// linksOf asks for the links of a run.
type linksOf struct {
	api.ByID
	Name string `query:"name" doc:"Of the signal or approval; default: all"`
}

func (s *server) workflowRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "workflow-run", Method: http.MethodGet, Path: "/v1/workflow-runs/{id}", Scope: access.ScopeRead,
		Summary: "Show the run of a workflow: its steps, and what it waits for",
		Doc:     "A workflow is a task of the kind workflow: it is saved under /v1/tasks, and a job of it is a run. It is canceled as a job.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID) (workflow.Status, error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return workflow.Status{}, err
		}
		return s.service.WorkflowRun(ctx, ns, in.ID)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "workflow-items", Method: http.MethodGet, Path: "/v1/workflow-runs/{id}/items", Scope: access.ScopeRead,
		Summary: "List the jobs of a step, in the order of its list",
	}, func(ctx context.Context, c *api.Call, in *itemsOf) (core.Page[workflow.Item], error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return core.Page[workflow.Item]{}, err
		}
		if in.Step == "" {
			return core.Page[workflow.Item]{}, core.InvalidField("step", "", "is missing", "name a step of the workflow")
		}
		return api.Page(s.service.WorkflowItems(ctx, ns, in.ID, in.Step, core.Paging{Limit: in.Limit, Cursor: in.Cursor}))
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "workflow-signal", Method: http.MethodPost, Path: "/v1/workflow-runs/{id}/signals", Scope: access.ScopeOperate,
		Summary: "Send a signal, or answer an approval",
		Doc:     "One that no step waits for yet is kept, also for a run that has not begun. One whose id was there before changes nothing.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID, body workflow.Signal) (workflow.Sent, error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return workflow.Sent{}, err
		}
		return s.service.SendSignal(ctx, ns, in.ID, body)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "workflow-link", Method: http.MethodPost, Path: "/v1/workflow-runs/{id}/links", Scope: access.ScopeOperate,
		Summary: "Make an address at which a signal or approval is answered without a token",
		Doc:     "Anyone who knows the address can answer until it expires, is taken back or the run ends. A person sees the question there; a program posts the input of the signal to it as JSON, with an id in the query if it may repeat itself.",
	}, func(ctx context.Context, c *api.Call, in *api.ByID, body job.Link) (job.NewLink, error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return job.NewLink{}, err
		}
		return s.service.MakeLink(ctx, ns, in.ID, body)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "workflow-unlink", Method: http.MethodDelete, Path: "/v1/workflow-runs/{id}/links", Scope: access.ScopeOperate,
		Summary: "Take back the links of a run",
	}, func(ctx context.Context, c *api.Call, in *linksOf) (job.Unlinked, error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return job.Unlinked{}, err
		}
		return s.service.DeleteLinks(ctx, ns, in.ID, in.Name)
	})

	type retrying struct {
		api.ByID
		Key string `header:"Idempotency-Key" doc:"The same as the key in the body. The same request again retries nothing; another one for the run with it is refused"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "workflow-retry", Method: http.MethodPost, Path: "/v1/workflow-runs/{id}/retry", Scope: access.ScopeOperate, Bare: true,
		Summary: "Retry the steps of an ended run that did not succeed, or all from a step on",
	}, func(ctx context.Context, c *api.Call, in *retrying, body workflow.Retrying) (out workflow.Retried, err error) {
		ns, err := in.Resolve(c, "workflow run")
		if err != nil {
			return out, err
		}
		if body.Key, err = api.Agree("key", in.Key, body.Key); err != nil {
			return out, err
		}
		if out.Existing, err = s.service.RetryWorkflow(ctx, ns, in.ID, body); err != nil {
			return out, err
		}
		out.Status, err = s.service.WorkflowRun(ctx, ns, in.ID)
		return out, err
	})
}
