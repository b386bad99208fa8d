package access

import (
	"context"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

func (s *server) tokenRoutes() {
	type tokenList struct {
		Items []access.Token `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "token-list", Method: http.MethodGet, Path: "/v1/tokens", Scope: access.ScopeAdmin,
		Summary: "List tokens, without their secrets",
		Doc:     "A token for one namespace sees those for the same.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (tokenList, error) {
		items, err := s.service.Tokens(ctx)
		if own := c.Token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(t access.Token) bool { return t.Namespace != own })
		}
		return tokenList{api.List(items)}, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "token-create", Method: http.MethodPost, Path: "/v1/tokens", Scope: access.ScopeAdmin, Created: true,
		Summary: "Create a token",
		Doc:     "The secret is answered this once. A token for one namespace makes tokens for the same, with scopes that it has itself.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}, t access.Token) (wire.NewToken, error) {
		t, err := delegated(c.Token, t)
		if err != nil {
			return wire.NewToken{}, err
		}
		made, secret, err := s.service.CreateToken(ctx, t)
		return wire.NewToken{Token: made, Secret: secret}, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "token-whoami", Method: http.MethodGet, Path: "/v1/whoami",
		Summary: "Show the token that asks",
		Doc:     "Of use to find out what it may do, and until when.",
	}, func(_ context.Context, c *api.Call, _ *struct{}) (access.Token, error) {
		return c.Token, nil
	})

	type byID struct {
		ID int64 `path:"id" minimum:"1"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "token-revoke", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Scope: access.ScopeAdmin,
		Summary: "Revoke a token",
		Doc:     "Other nodes may believe it for up to ten seconds more; the sessions of workers that it opened end at once. A token for one namespace revokes tokens of the same.",
	}, func(ctx context.Context, c *api.Call, in *byID) (api.None, error) {
		if err := s.mayRevoke(ctx, c.Token, in.ID); err != nil {
			return api.None{}, err
		}
		err := s.service.RevokeToken(ctx, in.ID)
		s.Guard.Forget()
		return api.None{}, err
	})
}
