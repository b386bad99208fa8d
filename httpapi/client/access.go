package client

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/view"
)

// AccessCalls are the calls about tokens, namespaces and the audit.
type AccessCalls struct{ server *server }

// SaveNamespace implements [httpapi.Namespaces].
func (c AccessCalls) SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error) {
	if err := checked("name", n.Name); err != nil {
		return access.Namespace{}, err
	}
	return put[access.Namespace](ctx, c.server, http.MethodPut, named("namespaces", n.Name), nil, n)
}

// Namespace implements [httpapi.Namespaces].
func (c AccessCalls) Namespace(ctx context.Context, name string) (access.Namespace, error) {
	if err := checked("name", name); err != nil {
		return access.Namespace{}, err
	}
	return get[access.Namespace](ctx, c.server, named("namespaces", name), nil)
}

// Namespaces implements [httpapi.Namespaces].
func (c AccessCalls) Namespaces(ctx context.Context) ([]access.Namespace, error) {
	return items[access.Namespace](ctx, c.server, "/v1/namespaces", nil)
}

// AllNamespaces implements [httpapi.Namespaces].
func (c AccessCalls) AllNamespaces(ctx context.Context) ([]access.Namespace, error) {
	return items[access.Namespace](ctx, c.server, "/v1/namespaces", words("all", "true"))
}

// NamespaceLimitUse implements [httpapi.Namespaces].
func (c AccessCalls) NamespaceLimitUse(ctx context.Context, name string) ([]view.LimitUse, error) {
	if err := core.ValidName("name", name); err != nil {
		return nil, err
	}
	return get[[]view.LimitUse](ctx, c.server, named("namespaces", name, "limits"), nil)
}

// QuotaUse implements [httpapi.Namespaces].
func (c AccessCalls) QuotaUse(ctx context.Context, name string) ([]access.QuotaUse, error) {
	if err := checked("name", name); err != nil {
		return nil, err
	}
	return items[access.QuotaUse](ctx, c.server, named("namespaces", name, "quota"), nil)
}

// CreateToken implements [httpapi.Tokens].
func (c AccessCalls) CreateToken(ctx context.Context, t access.Token) (access.Token, string, error) {
	made, err := put[wire.NewToken](ctx, c.server, http.MethodPost, "/v1/tokens", nil, t)
	return made.Token, made.Secret, err
}

// RevokeToken implements [httpapi.Tokens].
func (c AccessCalls) RevokeToken(ctx context.Context, id int64) error {
	return c.server.delete(ctx, numbered("tokens", id), nil)
}

// Whoami returns the token of the client.
func (c AccessCalls) Whoami(ctx context.Context) (access.Token, error) {
	return get[access.Token](ctx, c.server, "/v1/whoami", nil)
}

// Tokens implements [httpapi.Tokens].
func (c AccessCalls) Tokens(ctx context.Context) ([]access.Token, error) {
	return items[access.Token](ctx, c.server, "/v1/tokens", nil)
}

// CreateJoinToken implements [httpapi.Tokens].
func (c AccessCalls) CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error) {
	made, err := put[wire.NewJoinToken](ctx, c.server, http.MethodPost, "/v1/join-tokens", nil, t)
	return made.Token, made.Secret, err
}

// RevokeJoinToken implements [httpapi.Tokens].
func (c AccessCalls) RevokeJoinToken(ctx context.Context, id int64) error {
	return c.server.delete(ctx, numbered("join-tokens", id), nil)
}

// JoinTokens implements [httpapi.Tokens].
func (c AccessCalls) JoinTokens(ctx context.Context) ([]access.JoinToken, error) {
	return items[access.JoinToken](ctx, c.server, "/v1/join-tokens", nil)
}

// Join implements [httpapi.Tokens]. It needs no token. It is not repeated, because
// a call without an answer may have counted.
func (c AccessCalls) Join(ctx context.Context, secret, machine string) (access.Token, string, error) {
	var made wire.NewToken
	err := c.server.do(ctx, ask{method: http.MethodPost, path: "/v1/join", body: wire.Joining{Name: machine}, token: secret}, &made)
	return made.Token, made.Secret, err
}

// Audit implements [httpapi.Audits].
func (c AccessCalls) Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error) {
	return get[core.Page[access.Audit]](ctx, c.server, "/v1/audit",
		paged(f.Paging, words("namespace", f.Namespace, "noun", f.Noun, "name", f.Name,
			"actor", f.Actor, "since", timeText(f.Since), "until", timeText(f.Until))))
}
