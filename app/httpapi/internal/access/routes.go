// Package access serves tokens, join tokens, namespaces and the audit. [Routes]
// registers the routes, and [Service] is the part of the store that they use.
// Callers see and change only what their own token allows: a token cannot make
// one with more rights.
package access

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Namespaces
	Tokens
	Audits
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service) {
	r := &server{API: a, service: s}
	r.namespaceRoutes()
	r.tokenRoutes()
	r.joinRoutes()
	r.auditRoutes()
}
