// Package definitions applies and exports whole sets of definitions. [Routes]
// registers the routes, and [Service] is the part of the store that they use. An
// export shows secrets redacted, and applying it keeps the stored ones.
package definitions

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Definitions
}

// server serves the routes of this package.
type server struct {
	*api.API
	service  Service
	maxApply int64
	large    chan struct{} // has a slot for each large first part of an export that is in memory
}

// Routes registers the routes of this package. A manifest has at most so many bytes.
func Routes(a *api.API, s Service, maxApply int64) {
	r := &server{API: a, service: s, maxApply: maxApply, large: make(chan struct{}, largeParts)}
	r.definitionRoutes()
}
