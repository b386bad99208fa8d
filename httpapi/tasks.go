package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
	"github.com/belfry-run/belfry/view"
)

// byName names one thing in a namespace.
type byName struct {
	Name      string `path:"name"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

func (in *byName) resolve(c *call) (namespace string, err error) {
	if err := core.ValidName("name", in.Name); err != nil {
		return "", err
	}
	return inOne(c.token, "namespace", in.Namespace)
}

// namespaced asks for a list of what namespaces own.
type namespaced struct {
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
	Cursor    string `query:"cursor" doc:"Next of the page before"`
}

func (in *namespaced) filter(c *call) (f view.DocumentFilter, err error) {
	f.Paging = core.Paging{Limit: in.Limit, Cursor: in.Cursor}
	f.Namespace, err = inNamespace(c.token, "namespace", in.Namespace)
	return f, err
}

// owner is the namespace of something that is written: as the body says, or
// the address, or the token.
func (c *call) owner(asked, inBody string) (string, error) {
	ns, err := agree("namespace", asked, inBody)
	if err != nil {
		return "", err
	}
	return inOne(c.token, "namespace", ns)
}

// oneOf refuses a word that is not among the known ones. An empty one is fine.
func oneOf[T ~string](field string, given T, known ...T) error {
	if given == "" || slices.Contains(known, given) {
		return nil
	}
	return core.InvalidField(field, wire.Shorten(string(given)), "is not known", fmt.Sprint("one of ", known))
}

// page is a list as JSON has it: never null.
func page[T any](p core.Page[T], err error) (core.Page[T], error) {
	p.Items = list(p.Items)
	return p, err
}

func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// withoutSecrets is a task as it is shown. Only a worker's claim has all of it.
func withoutSecrets(t task.Task, err error) (task.Task, error) { return t.Redacted(), err }

func (s *Server) taskRoutes() {
	type listing struct {
		Namespace string    `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Kind      task.Kind `query:"kind" doc:"Only tasks of this kind"`
		Tag       string    `query:"tag" doc:"Only tasks with this tag"`
		Part      string    `query:"part" maxLength:"128" doc:"Only tasks with this in their name, whatever its case"`
		Limit     int       `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string    `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "task-list", method: http.MethodGet, path: "/v1/tasks", scope: access.ScopeRead,
		summary: "List tasks by name",
	}, func(ctx context.Context, c *call, in *listing) (core.Page[task.Task], error) {
		f := task.Filter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Kind: in.Kind, Tag: in.Tag, Part: in.Part}
		var err error
		if f.Namespace, err = inNamespace(c.token, "namespace", in.Namespace); err != nil {
			return core.Page[task.Task]{}, err
		}
		if err := oneOf("kind", in.Kind, task.TaskKinds...); err != nil {
			return core.Page[task.Task]{}, err
		}
		p, err := page(s.service.Tasks(ctx, f))
		for i, t := range p.Items {
			p.Items[i] = t.Redacted()
		}
		return p, err
	})

	type creating struct {
		Namespace string `query:"namespace" doc:"Default: as the body says, the token's namespace, or default"`
	}
	serveBody(s, endpoint{
		id: "task-create", method: http.MethodPost, path: "/v1/tasks", scope: access.ScopeAdmin, created: true,
		summary: "Create a task",
	}, func(ctx context.Context, c *call, in *creating, t task.Task) (_ task.Task, err error) {
		if t.Namespace, err = c.owner(in.Namespace, t.Namespace); err != nil {
			return t, err
		}
		return withoutSecrets(s.service.CreateTask(ctx, t))
	})

	serve(s, endpoint{
		id: "task-show", method: http.MethodGet, path: "/v1/tasks/{name}", scope: access.ScopeRead,
		summary: "Show a task",
	}, func(ctx context.Context, c *call, in *byName) (task.Task, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.Task{}, err
		}
		return withoutSecrets(s.service.Task(ctx, ns, in.Name))
	})

	serveBody(s, endpoint{
		id: "task-update", method: http.MethodPut, path: "/v1/tasks/{name}", scope: access.ScopeAdmin,
		summary: "Replace a task",
		doc:     "What the body leaves out gets its default, not what it was before; a secret that is written as it was shown stays.",
	}, func(ctx context.Context, c *call, in *byName, t task.Task) (_ task.Task, err error) {
		if t.Name, err = agree("name", in.Name, t.Name); err != nil {
			return t, err
		}
		if t.Namespace, err = c.owner(in.Namespace, t.Namespace); err != nil {
			return t, err
		}
		return withoutSecrets(s.service.UpdateTask(ctx, t))
	})

	serve(s, endpoint{
		id: "task-delete", method: http.MethodDelete, path: "/v1/tasks/{name}", scope: access.ScopeAdmin,
		summary: "Delete a task",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteTask(ctx, ns, in.Name)
	})
}
