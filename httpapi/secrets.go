package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry"
)

// secretValue is the body that sets a secret. No answer has one.
type secretValue struct {
	Value belfry.Secret `json:"value" doc:"At most 32 KiB, without NUL bytes"`
}

func (s *Server) secretRoutes() {
	serve(s, endpoint{
		id: "secret-list", method: http.MethodGet, path: "/v1/secrets", scope: belfry.ScopeRead,
		summary: "List secrets by name, with the tasks that use them",
		doc:     "Their values are never shown.",
	}, func(ctx context.Context, c *call, in *namespaced) (belfry.Page[belfry.KeptSecret], error) {
		f, err := in.filter(c)
		if err != nil {
			return belfry.Page[belfry.KeptSecret]{}, err
		}
		return page(s.service.KeptSecrets(ctx, f))
	})

	serveBody(s, endpoint{
		id: "secret-set", method: http.MethodPut, path: "/v1/secrets/{name}", scope: belfry.ScopeAdmin,
		summary: "Keep a secret, or replace its value",
		doc:     "Programs that start from now on get it, if their task names it.",
	}, func(ctx context.Context, c *call, in *byName, body secretValue) (belfry.KeptSecret, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return belfry.KeptSecret{}, err
		}
		return s.service.SetSecret(ctx, ns, in.Name, body.Value)
	})

	serve(s, endpoint{
		id: "secret-delete", method: http.MethodDelete, path: "/v1/secrets/{name}", scope: belfry.ScopeAdmin,
		summary: "Forget a secret that no task uses",
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, s.service.DeleteSecret(ctx, ns, in.Name)
	})

	serve(s, endpoint{
		id: "secret-rotate", method: http.MethodPost, path: "/v1/secrets/rotate", scope: belfry.ScopeAdmin, timeout: applyTimeout,
		summary: "Change the key that secrets are sealed with",
		doc:     "Needs a token for all namespaces. Where the key is in a file that an operator named, the first key in it seals from now on.",
	}, func(ctx context.Context, c *call, _ *struct{}) (belfry.ResealedSecrets, error) {
		if err := everywhere(c.token, "sealing keys"); err != nil {
			return belfry.ResealedSecrets{}, err
		}
		return s.service.RotateSecrets(ctx)
	})
}
