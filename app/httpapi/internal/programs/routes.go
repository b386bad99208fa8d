// Package programs serves what programs are made of, and the secrets that they get.
package programs

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
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
