// Package monitors serves monitors, their history, windows of maintenance and status
// pages, and what is open to everybody: the URLs of heartbeats, and badges.
package monitors

import (
	"net/http"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Monitors
	Windows
	StatusPages
	Announcements
	Subscribers
}

// Options are what a node may be able to do besides, or nil.
type Options struct {
	Prober  Prober // tries checks
	Secrets Checks // for tries of the checks of monitors

	Subscribe http.Handler // takes and ends subscriptions of visitors
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
	opts    Options
	badges  badgeMemo
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service, o Options) {
	r := &server{API: a, service: s, opts: o, badges: badgeMemo{keep: 10 * time.Second}}
	r.monitorRoutes()
	r.incidentRoutes()
	r.pageRoutes()
	r.trialRoutes()
	r.windowRoutes()
	r.statusPageRoutes()
	r.announcementRoutes()
	r.subscriberRoutes()
	r.beatRoutes()
	r.foreignBeatRoutes()
	r.badgeRoutes()
}

// badgeRoutes serve pictures for everybody.
func (s *server) badgeRoutes() {
	s.Mux.HandleFunc("GET /badge/{namespace}/{monitor}/{file}", s.badge)
}
