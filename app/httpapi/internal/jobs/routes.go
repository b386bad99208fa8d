// Package jobs serves jobs, their logs and their output files. [Routes]
// registers the routes, and [Service] is the part of the store that they use. A
// job of another namespace is answered as not found, because an id gives no
// right.
package jobs

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Jobs
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service) {
	r := &server{API: a, service: s}
	r.jobRoutes()
}
