package tasks

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// withoutSecrets returns a task without secrets. Only a worker's claim has them.
func withoutSecrets(t task.Task, err error) (task.Task, error) { return t.Redacted(), err }

func (s *server) taskRoutes() {
	type listing struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Kind      task.Kind `query:"kind" doc:"Only tasks of this kind"`
		Tag       string    `query:"tag" doc:"Only tasks with this tag"`
		Part      string    `query:"part" maxLength:"200" doc:"Only tasks with this in their name or title, whatever its case"`
		Limit     int       `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string    `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "task-list", Method: http.MethodGet, Path: "/v1/tasks", Scope: access.ScopeRead,
		Summary: "List tasks by name",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[task.Task], error) {
		f := task.Filter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Kind: in.Kind, Tag: in.Tag, Part: in.Part}
		var err error
		if f.Namespace, err = api.InNamespace(c.Token, "namespace", in.Namespace); err != nil {
			return core.Page[task.Task]{}, err
		}
		if err := api.OneOf("kind", in.Kind, task.TaskKinds...); err != nil {
			return core.Page[task.Task]{}, err
		}
		p, err := api.Page(s.service.Tasks(ctx, f))
		for i, t := range p.Items {
			p.Items[i] = t.Redacted()
		}
		return p, err
	})

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	api.ServeBody(s.API, api.Endpoint{
		Id: "task-create", Method: http.MethodPost, Path: "/v1/tasks", Scope: access.ScopeAdmin, Created: true,
		Summary: "Create a task",
	}, func(ctx context.Context, c *api.Call, in *creating, t task.Task) (_ task.Task, err error) {
		if t.Namespace, err = c.Owner(in.Namespace, t.Namespace); err != nil {
			return t, err
		}
		return withoutSecrets(s.service.CreateTask(ctx, t))
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "task-try", Method: http.MethodPost, Path: "/v1/tasks/try", Scope: access.ScopeAdmin, Created: true,
		Summary: "Run a definition once, without saving it",
		Doc:     "The answer is its job, of trigger trial: one attempt on a worker, with a log like any other. It joins no limit, sequence, throttle or debounce of its task, and nothing is told of its failure. The definition is forgotten a day later, or when a hundred others were tried in the namespace; a trial that has not started by then is withdrawn.",
	}, func(ctx context.Context, c *api.Call, in *creating, t job.TaskTrial) (e job.Enqueued, err error) {
		if t.Task.Namespace, err = c.Owner(in.Namespace, t.Task.Namespace); err != nil {
			return e, err
		}
		return s.service.TryTask(ctx, t)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "task-show", Method: http.MethodGet, Path: "/v1/tasks/{name}", Scope: access.ScopeRead,
		Summary: "Show a task",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (task.Task, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return task.Task{}, err
		}
		return withoutSecrets(s.service.Task(ctx, ns, in.Name))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "task-limits", Method: http.MethodGet, Path: "/v1/tasks/{name}/limits", Scope: access.ScopeRead,
		Summary: "Show how the limits of a task are used now, and by which keys most",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) ([]view.LimitUse, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return nil, err
		}
		all, err := s.service.LimitUse(ctx, ns, in.Name)
		return api.List(all), err
	})

	s.taskChanges()
}

// taskChanges serves the changes of one task.
func (s *server) taskChanges() {
	api.ServeBody(s.API, api.Endpoint{
		Id: "task-resume", Method: http.MethodPost, Path: "/v1/tasks/{name}/resume", Scope: access.ScopeOperate, Bare: true,
		Summary: "Resume a sequence that a failed job stopped, with its next job",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.SequenceKey) (wire.Resumed, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return wire.Resumed{}, err
		}
		resumed, err := s.service.ResumeSequence(ctx, ns, in.Name, body.Key)
		return wire.Resumed{Resumed: resumed}, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "task-update", Method: http.MethodPut, Path: "/v1/tasks/{name}", Scope: access.ScopeAdmin,
		Summary: "Replace a task",
		Doc:     "What the body leaves out gets its default, not what it was before; a secret that is written as it was shown stays.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, t task.Task) (_ task.Task, err error) {
		if t.Name, err = api.Agree("name", in.Name, t.Name); err != nil {
			return t, err
		}
		if t.Namespace, err = c.Owner(in.Namespace, t.Namespace); err != nil {
			return t, err
		}
		return withoutSecrets(s.service.UpdateTask(ctx, t))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "task-delete", Method: http.MethodDelete, Path: "/v1/tasks/{name}", Scope: access.ScopeAdmin,
		Summary: "Delete a task",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (api.None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteTask(ctx, ns, in.Name)
	})
}
