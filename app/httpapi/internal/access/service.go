package access

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Namespaces stores the limits of namespaces.
type Namespaces interface {
	// SaveNamespace replaces the limits of a namespace. Its tasks must fit them.
	SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error)
	Namespace(ctx context.Context, name string) (access.Namespace, error)
	// Namespaces lists the namespaces with limits.
	Namespaces(ctx context.Context) ([]access.Namespace, error)
	// AllNamespaces also lists namespaces without limits that have tasks or monitors.
	AllNamespaces(ctx context.Context) ([]access.Namespace, error)
	// QuotaUse returns how much of its quotas a namespace uses, without unlimited ones.
	QuotaUse(ctx context.Context, name string) ([]access.QuotaUse, error)
	// NamespaceLimitUse returns the present use of the limits of a namespace's jobs.
	NamespaceLimitUse(ctx context.Context, name string) ([]view.LimitUse, error)
}

// Tokens stores tokens and join tokens.
type Tokens interface {
	// CreateToken also returns the secret, which cannot be read later.
	CreateToken(ctx context.Context, t access.Token) (access.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
	Tokens(ctx context.Context) ([]access.Token, error)
	// CreateJoinToken also returns the secret, which cannot be read later.
	CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error)
	RevokeJoinToken(ctx context.Context, id int64) error
	JoinTokens(ctx context.Context) ([]access.JoinToken, error)
	// Join creates a token for the worker of a machine, and returns its secret. The
	// caller must have the secret of a join token; others get Unauthorized.
	Join(ctx context.Context, secret, machine string) (access.Token, string, error)
}

// Audits lists the changes of the audit.
type Audits interface {
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
}
