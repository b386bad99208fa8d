// Package definitions applies and exports whole sets of definitions.
package definitions

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Definitions
}

// server serves the routes of this package.
type server struct {
	*api.API
	service  Service
	maxApply int64
}

// Routes registers the routes of this package. A manifest has at most so many bytes.
func Routes(a *api.API, s Service, maxApply int64) {
	r := &server{API: a, service: s, maxApply: maxApply}
	r.definitionRoutes()
}
