package api

import (
	"fmt"
	"slices"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/schedule"
	"github.com/belfry-run/belfry/view"
)

// Each applies f to each item of a list. A nil list stays nil.
func Each[T, R any](items []T, f func(T) R) []R {
	if items == nil {
		return nil
	}
	out := make([]R, len(items))
	for i, v := range items {
		out[i] = f(v)
	}
	return out
}

// ByID names one incident or alert.
type ByID struct {
	ID        int64  `path:"id"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for wherever it is"`
}

// Resolve checks the id, and returns the namespace of the request.
func (in *ByID) Resolve(c *Call, noun string) (string, error) {
	if in.ID < 1 {
		return "", core.InvalidField("id", fmt.Sprint(in.ID), "is not the id of an "+noun, "")
	}
	return InNamespace(c.Token, "namespace", in.Namespace)
}

// FullForecast returns a forecast for JSON: no list is null.
func FullForecast(f schedule.Forecast) schedule.Forecast {
	f.Loads, f.Hours, f.Busiest = List(f.Loads), List(f.Hours), List(f.Busiest)
	return f
}

// ByName names one definition in a namespace.
type ByName struct {
	Name      string `path:"name"`
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
}

// Resolve checks the name, and returns the namespace of the request.
func (in *ByName) Resolve(c *Call) (namespace string, err error) {
	if err := core.ValidName("name", in.Name); err != nil {
		return "", err
	}
	return InOne(c.Token, "namespace", in.Namespace)
}

// Namespaced are the parameters of a list of definitions that namespaces own.
type Namespaced struct {
	Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
	Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50. A page of large items ends after 2 MiB, with next for the rest"`
	Cursor    string `query:"cursor" doc:"Next of the page before"`
}

// Filter returns the filter for the service.
func (in *Namespaced) Filter(c *Call) (f view.DocumentFilter, err error) {
	f.Paging = core.Paging{Limit: in.Limit, Cursor: in.Cursor}
	f.Namespace, err = InNamespace(c.Token, "namespace", in.Namespace)
	return f, err
}

// Searched are the parameters of a list of definitions that have titles.
type Searched struct {
	Namespaced
	Part string `query:"part" maxLength:"200" doc:"Only those with this in their name or title, whatever its case"`
}

// Filter returns the filter for the service.
func (in *Searched) Filter(c *Call) (f view.DocumentFilter, err error) {
	f, err = in.Namespaced.Filter(c)
	f.Part = in.Part
	return f, err
}

// Owner returns the namespace of a definition to save, from the body, the query
// or the token.
func (c *Call) Owner(asked, inBody string) (string, error) {
	ns, err := Agree("namespace", asked, inBody)
	if err != nil {
		return "", err
	}
	return InOne(c.Token, "namespace", ns)
}

// OneOf refuses a value that is not among the known ones. An empty value is valid.
func OneOf[T ~string](field string, given T, known ...T) error {
	if given == "" || slices.Contains(known, given) {
		return nil
	}
	return core.InvalidField(field, wire.Shorten(string(given)), "is not known", "one of "+core.List(known))
}

// Page returns a page for JSON: its list is never null.
func Page[T any](p core.Page[T], err error) (core.Page[T], error) {
	p.Items = List(p.Items)
	return p, err
}

// List returns a list for JSON: never null.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
