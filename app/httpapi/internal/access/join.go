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

// maxJoin bounds the body of a machine that joins, which is read before its token is looked up.
const maxJoin = 4 << 10

func (s *server) joinRoutes() {
	type joinTokenList struct {
		Items []access.JoinToken `json:"items"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "join-token-list", Method: http.MethodGet, Path: "/v1/join-tokens", Scope: access.ScopeAdmin,
		Summary: "List join tokens, without their secrets",
		Doc:     "A token for one namespace sees those for the same.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}) (joinTokenList, error) {
		items, err := s.service.JoinTokens(ctx)
		if own := c.Token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(t access.JoinToken) bool { return t.Namespace != own })
		}
		return joinTokenList{api.List(items)}, err
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "join-token-create", Method: http.MethodPost, Path: "/v1/join-tokens", Scope: access.ScopeAdmin, Created: true,
		Summary: "Create a join token, with which machines get tokens for workers",
		Doc:     "The secret is answered this once. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}, t access.JoinToken) (wire.NewJoinToken, error) {
		if err := api.Everywhere(c.Token, "join tokens"); err != nil {
			return wire.NewJoinToken{}, err
		}
		made, secret, err := s.service.CreateJoinToken(ctx, t)
		return wire.NewJoinToken{Token: made, Secret: secret}, err
	})

	type byID struct {
		ID int64 `path:"id" minimum:"1"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "join-token-revoke", Method: http.MethodDelete, Path: "/v1/join-tokens/{id}", Scope: access.ScopeAdmin,
		Summary: "Revoke a join token",
		Doc:     "The tokens that machines got by it stay good. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *api.Call, in *byID) (api.None, error) {
		if err := api.Everywhere(c.Token, "join tokens"); err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.RevokeJoinToken(ctx, in.ID)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "join-machine", Method: http.MethodPost, Path: "/v1/join", Join: true, Created: true,
		MaxBody: maxJoin,
		Summary: "Get a token for the worker of a machine",
		Doc:     "Counts as a use of the join token. The token has the scope worker; its secret is answered this once.",
	}, func(ctx context.Context, c *api.Call, _ *struct{}, who wire.Joining) (wire.NewToken, error) {
		var out wire.NewToken
		err := s.Guess(ctx, c.Join, func() (err error) {
			out.Token, out.Secret, err = s.service.Join(ctx, c.Join, who.Name)
			return err
		})
		return out, err
	})
}
