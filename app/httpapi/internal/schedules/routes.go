// Package schedules serves schedules, calendars and backfills, and the upcoming
// times of schedules. [Routes] registers the routes, and [Service] is the part
// of the store that they use.
package schedules

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Schedules
	Calendars
	Backfills
	Lookout
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service) {
	r := &server{API: a, service: s}
	r.scheduleRoutes()
	r.calendarRoutes()
	r.backfillRoutes()
	r.lookRoutes()
}
