package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
)

func (s *Server) secretRoutes() {
	serve(s, endpoint{
		id: "secret-list", method: http.MethodGet, path: "/v1/secrets", scope: access.ScopeRead,
		summary: "List secrets by name, with the tasks that use them",
		doc:     "Their values are never shown.",
	}, func(ctx context.Context, c *call, in *namespaced) (core.Page[task.KeptSecret], error) {
		f, err := in.filter(c)
		if err != nil {
			return core.Page[task.KeptSecret]{}, err
		}
		return page(s.service.KeptSecrets(ctx, f))
	})

	serveBody(s, endpoint{
		id: "secret-set", method: http.MethodPut, path: "/v1/secrets/{name}", scope: access.ScopeAdmin,
		summary: "Keep a secret, or replace its value",
		doc:     "Programs that start from now on get it, if their task names it.",
	}, func(ctx context.Context, c *call, in *byName, body wire.SecretValue) (task.KeptSecret, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return task.KeptSecret{}, err
		}
		return s.service.SetSecret(ctx, ns, in.Name, body.Value)
	})

	serve(s, endpoint{
		id: "secret-delete", method: http.MethodDelete, path: "/v1/secrets/{name}", scope: access.ScopeAdmin,
		summary: "Forget a secret that no task uses",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteSecret(ctx, ns, in.Name)
	})

	serve(s, endpoint{
		id: "secret-rotate", method: http.MethodPost, path: "/v1/secrets/rotate", scope: access.ScopeAdmin, timeout: wire.ApplyTimeout,
		summary: "Change the key that secrets are sealed with",
		doc:     "Needs a token for all namespaces. Where the key is in a file that an operator named, the first key in it seals from now on.",
	}, func(ctx context.Context, c *call, _ *struct{}) (task.ResealedSecrets, error) {
		if err := everywhere(c.token, "sealing keys"); err != nil {
			return task.ResealedSecrets{}, err
		}
		return s.service.RotateSecrets(ctx)
	})
}
