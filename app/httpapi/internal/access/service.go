package access

import (
	"context"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Namespaces keeps what each namespace may do.
type Namespaces interface {
	// SaveNamespace replaces the limits of a namespace. Its tasks must fit them.
	SaveNamespace(ctx context.Context, n access.Namespace) (access.Namespace, error)
	Namespace(ctx context.Context, name string) (access.Namespace, error)
	// Namespaces lists those that have limits.
	Namespaces(ctx context.Context) ([]access.Namespace, error)
	// AllNamespaces lists those without limits too that have tasks or monitors.
	AllNamespaces(ctx context.Context) ([]access.Namespace, error)
	// QuotaUse is how much of its quotas a namespace uses. Those without a limit are left out.
	QuotaUse(ctx context.Context, name string) ([]access.QuotaUse, error)
	// NamespaceLimitUse is how the limits of a namespace's jobs are used now.
	NamespaceLimitUse(ctx context.Context, name string) ([]view.LimitUse, error)
}

// Tokens keeps who may do what.
type Tokens interface {
	// CreateToken also returns the secret, which cannot be had again.
	CreateToken(ctx context.Context, t access.Token) (access.Token, string, error)
	RevokeToken(ctx context.Context, id int64) error
	Tokens(ctx context.Context) ([]access.Token, error)
	// CreateJoinToken also returns the secret, which cannot be had again.
	CreateJoinToken(ctx context.Context, t access.JoinToken) (access.JoinToken, string, error)
	RevokeJoinToken(ctx context.Context, id int64) error
	JoinTokens(ctx context.Context) ([]access.JoinToken, error)
	// Join makes a token for the worker of a machine, and its secret, for
	// a holder of the secret of a join token. Others get Unauthorized.
	Join(ctx context.Context, secret, machine string) (access.Token, string, error)
}

// Audits shows who changed what.
type Audits interface {
	Audit(ctx context.Context, f access.AuditFilter) (core.Page[access.Audit], error)
}
