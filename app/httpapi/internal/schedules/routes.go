// Package schedules serves schedules, calendars and backfills, and says what schedules
// will do.
package schedules

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
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
