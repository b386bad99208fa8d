package access

import (
	"context"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

func (s *server) namespaceRoutes() {
	type namespaceByName struct {
		Name string `path:"name"`
	}
	type namespaceQuery struct {
		All bool `query:"all" doc:"Those without limits too that have tasks or monitors, up to 200"`
	}
	type namespaceList struct {
		Items []access.Namespace `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "namespace-list", Method: http.MethodGet, Path: "/v1/namespaces", Scope: access.ScopeRead,
		Summary: "List the namespaces that have limits",
		Doc:     "A token for one namespace sees its own.",
	}, func(ctx context.Context, c *api.Call, in *namespaceQuery) (namespaceList, error) {
		list := s.service.Namespaces
		if in.All {
			list = s.service.AllNamespaces
		}
		items, err := list(ctx)
		if own := c.Token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(n access.Namespace) bool { return n.Name != own })
		}
		for i := range items {
			items[i].Queues = api.List(items[i].Queues)
		}
		return namespaceList{api.List(items)}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "namespace-show", Method: http.MethodGet, Path: "/v1/namespaces/{name}", Scope: access.ScopeRead,
		Summary: "Show the limits of a namespace",
		Doc:     "A namespace without limits is answered as well, whether anything is in it or not.",
	}, func(ctx context.Context, c *api.Call, in *namespaceByName) (access.Namespace, error) {
		name, err := api.InOne(c.Token, "name", in.Name)
		if err != nil {
			return access.Namespace{}, err
		}
		n, err := s.service.Namespace(ctx, name)
		n.Queues = api.List(n.Queues)
		return n, err
	})

	type useList struct {
		Items []access.QuotaUse `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "namespace-quota", Method: http.MethodGet, Path: "/v1/namespaces/{name}/quota", Scope: access.ScopeRead,
		Summary: "Show how much of its quotas a namespace uses",
		Doc:     "Quotas without a limit are left out.",
	}, func(ctx context.Context, c *api.Call, in *namespaceByName) (useList, error) {
		name, err := api.InOne(c.Token, "name", in.Name)
		if err != nil {
			return useList{}, err
		}
		items, err := s.service.QuotaUse(ctx, name)
		return useList{api.List(items)}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "namespace-limits", Method: http.MethodGet, Path: "/v1/namespaces/{name}/limits", Scope: access.ScopeRead,
		Summary: "Show how the limits of a namespace's jobs are used now, and by which keys most",
	}, func(ctx context.Context, c *api.Call, in *namespaceByName) ([]view.LimitUse, error) {
		name, err := api.InOne(c.Token, "name", in.Name)
		if err != nil {
			return nil, err
		}
		all, err := s.service.NamespaceLimitUse(ctx, name)
		return api.List(all), err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "namespace-save", Method: http.MethodPut, Path: "/v1/namespaces/{name}", Scope: access.ScopeAdmin,
		Summary: "Set which queues and priorities a namespace may use, its quotas, and the limits of its jobs",
		Doc: "Replaces the limits that it had; without any, everything is allowed. Tasks that exist must fit them, else it is a conflict. Jobs that exist keep their queue and priority. A quota may be below what is used: then new things are refused, and nothing ends. " +
			"Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *namespaceByName, n access.Namespace) (_ access.Namespace, err error) {
		if err := api.Everywhere(c.Token, "limits of namespaces"); err != nil {
			return n, err
		}
		if n.Name, err = api.Agree("name", in.Name, n.Name); err != nil {
			return n, err
		}
		n, err = s.service.SaveNamespace(ctx, n)
		n.Queues = api.List(n.Queues)
		return n, err
	})
}
