// Package access serves tokens, join tokens, namespaces and the audit: who may do what,
// and who did.
package access

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
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
