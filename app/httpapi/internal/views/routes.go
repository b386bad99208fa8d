// Package views serves views across nouns: the overview, statistics of schedules and jobs
// over time, and events.
package views

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	History
	Watcher
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service) {
	r := &server{API: a, service: s}
	r.historyRoutes()
	r.watchRoutes()
}
