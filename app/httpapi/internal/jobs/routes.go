// Package jobs serves jobs, their logs and the files that they leave.
package jobs

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
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
