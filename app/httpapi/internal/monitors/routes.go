// Package monitors serves monitors, their history, maintenance windows and status
// pages, and routes without a token: the URLs of heartbeats, and badges.
package monitors

import (
	"net/http"
	"time"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Monitors
	Windows
	StatusPages
	Announcements
	Subscribers
}

// Options are optional abilities of a node. A nil one is missing.
type Options struct {
	Prober  Prober // tries checks
	Secrets Checks // for tries of the checks of monitors

	Subscribe http.Handler // creates and deletes subscriptions of visitors
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

// badgeRoutes serves badges, without a token.
func (s *server) badgeRoutes() {
	s.Mux.HandleFunc("GET /badge/{namespace}/{monitor}/{file}", s.badge)
}
