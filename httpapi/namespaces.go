package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
)

func (s *Server) namespaceRoutes() {
	type namespaceByName struct {
		Name string `path:"name"`
	}
	type namespaceList struct {
		Items []access.Namespace `json:"items"`
	}
	serve(s, endpoint{
		id: "namespace-list", method: http.MethodGet, path: "/v1/namespaces", scope: access.ScopeRead,
		summary: "List the namespaces that have limits",
		doc:     "A token for one namespace sees its own.",
	}, func(ctx context.Context, c *call, _ *struct{}) (namespaceList, error) {
		items, err := s.service.Namespaces(ctx)
		if own := c.token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(n access.Namespace) bool { return n.Name != own })
		}
		for i := range items {
			items[i].Queues = list(items[i].Queues)
		}
		return namespaceList{list(items)}, err
	})

	serve(s, endpoint{
		id: "namespace-show", method: http.MethodGet, path: "/v1/namespaces/{name}", scope: access.ScopeRead,
		summary: "Show the limits of a namespace",
		doc:     "A namespace without limits is answered as well, whether anything is in it or not.",
	}, func(ctx context.Context, c *call, in *namespaceByName) (access.Namespace, error) {
		name, err := inOne(c.token, "name", in.Name)
		if err != nil {
			return access.Namespace{}, err
		}
		n, err := s.service.Namespace(ctx, name)
		n.Queues = list(n.Queues)
		return n, err
	})

	serveBody(s, endpoint{
		id: "namespace-save", method: http.MethodPut, path: "/v1/namespaces/{name}", scope: access.ScopeAdmin,
		summary: "Set which queues and which priorities a namespace may use",
		doc: "Replaces the limits that it had; without any, everything is allowed. Tasks that exist must fit them, else it is a conflict. Jobs that exist keep their queue and priority. " +
			"Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *namespaceByName, n access.Namespace) (_ access.Namespace, err error) {
		if err := everywhere(c.token, "limits of namespaces"); err != nil {
			return n, err
		}
		if n.Name, err = agree("name", in.Name, n.Name); err != nil {
			return n, err
		}
		n, err = s.service.SaveNamespace(ctx, n)
		n.Queues = list(n.Queues)
		return n, err
	})
}
