package programs

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/task"
)

func (s *server) secretRoutes() {
	api.Serve(s.API, api.Endpoint{
		Id: "secret-list", Method: http.MethodGet, Path: "/v1/secrets", Scope: access.ScopeRead,
		Summary: "List secrets by name, with the tasks that use them",
		Doc:     "Their values are never shown.",
	}, func(ctx context.Context, c *api.Call, in *api.Namespaced) (core.Page[task.KeptSecret], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[task.KeptSecret]{}, err
		}
		return api.Page(s.service.KeptSecrets(ctx, f))
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "secret-set", Method: http.MethodPut, Path: "/v1/secrets/{name}", Scope: access.ScopeAdmin,
		Summary: "Keep a secret, or replace its value",
		Doc:     "Programs that start from now on get it, if their task names it.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, body wire.SecretValue) (task.KeptSecret, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return task.KeptSecret{}, err
		}
		return s.service.SetSecret(ctx, ns, in.Name, body.Value)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "secret-delete", Method: http.MethodDelete, Path: "/v1/secrets/{name}", Scope: access.ScopeAdmin,
		Summary: "Forget a secret that no task uses",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (api.None, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.DeleteSecret(ctx, ns, in.Name)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "secret-rotate", Method: http.MethodPost, Path: "/v1/secrets/rotate", Scope: access.ScopeAdmin, Timeout: wire.ApplyTimeout,
		Summary: "Change the key that secrets are sealed with",
		Doc:     "Needs a token for all namespaces. Where the key is in a file that an operator named, the first key in it seals from now on.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (task.ResealedSecrets, error) {
		if err := api.Everywhere(c.Token, "sealing keys"); err != nil {
			return task.ResealedSecrets{}, err
		}
		return s.service.RotateSecrets(ctx)
	})
}
