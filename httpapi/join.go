package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
)

func (s *Server) joinRoutes() {
	type joinTokenList struct {
		Items []access.JoinToken `json:"items"`
	}
	serve(s, endpoint{
		id: "join-token-list", method: http.MethodGet, path: "/v1/join-tokens", scope: access.ScopeAdmin,
		summary: "List join tokens, without their secrets",
		doc:     "A token for one namespace sees those for the same.",
	}, func(ctx context.Context, c *call, _ *struct{}) (joinTokenList, error) {
		items, err := s.service.JoinTokens(ctx)
		if own := c.token.Namespace; own != core.AnyNamespace {
			items = slices.DeleteFunc(items, func(t access.JoinToken) bool { return t.Namespace != own })
		}
		return joinTokenList{list(items)}, err
	})

	serveBody(s, endpoint{
		id: "join-token-create", method: http.MethodPost, path: "/v1/join-tokens", scope: access.ScopeAdmin, created: true,
		summary: "Create a join token, with which machines get tokens for workers",
		doc:     "The secret is answered this once. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, _ *struct{}, t access.JoinToken) (wire.NewJoinToken, error) {
		if err := everywhere(c.token, "join tokens"); err != nil {
			return wire.NewJoinToken{}, err
		}
		made, secret, err := s.service.CreateJoinToken(ctx, t)
		return wire.NewJoinToken{Token: made, Secret: secret}, err
	})

	type byID struct {
		ID int64 `path:"id" minimum:"1"`
	}
	serve(s, endpoint{
		id: "join-token-revoke", method: http.MethodDelete, path: "/v1/join-tokens/{id}", scope: access.ScopeAdmin,
		summary: "Revoke a join token",
		doc:     "The tokens that machines got by it stay good. Needs a token for all namespaces.",
	}, func(ctx context.Context, c *call, in *byID) (none, error) {
		if err := everywhere(c.token, "join tokens"); err != nil {
			return none{}, err
		}
		return none{}, s.service.RevokeJoinToken(ctx, in.ID)
	})

	serveBody(s, endpoint{
		id: "join-machine", method: http.MethodPost, path: "/v1/join", join: true, created: true,
		summary: "Get a token for the worker of a machine",
		doc:     "Counts as a use of the join token. The token has the scope worker; its secret is answered this once.",
	}, func(ctx context.Context, c *call, _ *struct{}, who wire.Joining) (wire.NewToken, error) {
		guess := guesserOf(c.addr, c.join)
		leave, err := s.guard.guesses.enter(ctx, guess)
		if err != nil {
			return wire.NewToken{}, err
		}
		defer leave()
		made, secret, err := s.service.Join(ctx, c.join, who.Name)
		if core.CodeOf(err) == core.Unauthorized {
			return wire.NewToken{}, notLetIn(s.guard.guesses.failed(guess, err))
		}
		return wire.NewToken{Token: made, Secret: secret}, err
	})
}

// authorizeJoin lets a request in that carries something like a join token.
// Whether it is one is found out in the transaction that counts its use.
func (s *Server) authorizeJoin(ctx context.Context, r *http.Request, _ access.Scope) (context.Context, error) {
	secret, err := bearer(r)
	if err != nil {
		return ctx, notLetIn(err)
	}
	callOf(ctx).join = secret
	return ctx, nil
}
