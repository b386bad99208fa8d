package api

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Document describes the routes of a noun whose definitions are saved as a
// whole: channels, alert rules, hooks, maintenance windows, status pages.
type Document[T any] struct {
	Id      string // first part of the operation ids: the noun
	Path    string // of the list
	One     string // singular with its article, for sentences
	Many    string // plural
	Listing string // documentation of the list
	Saving  string // documentation of a change
	Ending  string // documentation of a deletion

	Owner func(*T) (namespace, name *string)
	Save  func(context.Context, T) (T, error)
	Drop  func(ctx context.Context, namespace, name string) error
	Read  func(ctx context.Context, namespace, name string) (T, error)
	List  func(context.Context, view.DocumentFilter) (core.Page[T], error)
	Shown func(T) T // removes secrets; nil: there are none
}

// ServeDocument registers the routes of a noun.
func ServeDocument[T any](a *API, d Document[T]) {
	show := func(v T, err error) (T, error) {
		if d.Shown != nil {
			v = d.Shown(v)
		}
		return v, err
	}
	one := d.Path + "/{name}"

	Serve(a, Endpoint{
		Id: d.Id + "-list", Method: http.MethodGet, Path: d.Path, Scope: access.ScopeRead,
		Summary: "List " + d.Many + " by name", Doc: d.Listing,
	}, func(ctx context.Context, c *Call, in *Searched) (core.Page[T], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[T]{}, err
		}
		p, err := Page(d.List(ctx, f))
		for i, v := range p.Items {
			p.Items[i], _ = show(v, nil)
		}
		return p, err
	})

	Serve(a, Endpoint{
		Id: d.Id + "-show", Method: http.MethodGet, Path: one, Scope: access.ScopeRead,
		Summary: "Show " + d.One,
	}, func(ctx context.Context, c *Call, in *ByName) (v T, err error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return v, err
		}
		return show(d.Read(ctx, ns, in.Name))
	})

	ServeBody(a, Endpoint{
		Id: d.Id + "-save", Method: http.MethodPut, Path: one, Scope: access.ScopeAdmin,
		Summary: "Create or replace " + d.One,
		Doc:     "What the body leaves out gets its default, not what it was before." + d.Saving,
	}, func(ctx context.Context, c *Call, in *ByName, v T) (_ T, err error) {
		namespace, name := d.Owner(&v)
		if *name, err = Agree("name", in.Name, *name); err != nil {
			return v, err
		}
		if *namespace, err = c.Owner(in.Namespace, *namespace); err != nil {
			return v, err
		}
		return show(d.Save(ctx, v))
	})

	Serve(a, Endpoint{
		Id: d.Id + "-delete", Method: http.MethodDelete, Path: one, Scope: access.ScopeAdmin,
		Summary: "Delete " + d.One,
		Doc:     d.Ending,
	}, func(ctx context.Context, c *Call, in *ByName) (None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return None{}, err
		}
		return None{}, d.Drop(ctx, ns, in.Name)
	})
}
