package access

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
)

// delegated returns a token that another token may create. A token for all
// namespaces may create any token. Others may create tokens for their namespace,
// with no more scopes and no later expiry than their own.
func delegated(by, t access.Token) (access.Token, error) {
	if by.Namespace == core.AnyNamespace {
		return t, nil
	}
	ns, err := api.InNamespace(by, "namespace", t.Namespace)
	if err != nil {
		return t, err
	}
	t.Namespace = ns
	for _, scope := range t.Scopes {
		if slices.Contains(access.Scopes, scope) && !access.Allows(by.Scopes, scope) {
			return t, core.Errorf(core.Forbidden, "token %q cannot give the scope %s, which it does not have", by.Name, scope).
				WithHint("give scopes of %s, or use a token for namespace *", api.ScopeText(by.Scopes))
		}
	}
	if ends := by.ExpiresAt; !ends.IsZero() {
		if t.ExpiresAt.IsZero() {
			t.ExpiresAt = ends
		}
		if t.ExpiresAt.After(ends) {
			return t, core.InvalidField("expires_at", t.ExpiresAt.Format(time.RFC3339), "must not be after the end of the token that makes it", "leave it out")
		}
	}
	return t, nil
}

// mayRevoke returns an error if a token may not revoke another one. A token of
// another namespace is NotFound.
func (s *server) mayRevoke(ctx context.Context, by access.Token, id int64) error {
	if by.Namespace == core.AnyNamespace {
		return nil
	}
	tokens, err := s.service.Tokens(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(tokens, func(t access.Token) bool { return t.ID == id && t.Namespace == by.Namespace }) {
		return core.Errorf(core.NotFound, "token %d not found in namespace %q", id, by.Namespace).WithHint("see: belfry token list")
	}
	return nil
}
