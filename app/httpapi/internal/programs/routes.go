// Package programs serves the artifacts of programs, and their secrets. [Routes]
// registers the routes, and [Service] is the part of the store that they use.
// Bytes do not pass through these routes: they answer signed links. A secret can
// be set and deleted, and never read.
package programs

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Artifacts
	KeptSecrets
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service) {
	r := &server{API: a, service: s}
	r.artifactRoutes()
	r.secretRoutes()
}
