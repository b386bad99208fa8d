// Package alerts serves channels, alert rules, alerts and hooks.
package alerts

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Channels
	AlertRules
	Alerts
	Hooks
}

// Secrets hands out channels and hooks with their secrets, for the server's own use.
type Secrets interface {
	ChannelSecrets
	HookSecrets
}

// Options are what a node may be able to do besides, or nil.
type Options struct {
	Notifier  Notifier // tests channels
	Secrets   Secrets  // for tests
	PublicURL string   // where people reach this node
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
	opts    Options
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service, o Options) {
	r := &server{API: a, service: s, opts: o}
	r.channelRoutes()
	r.alertRoutes()
	r.hookRoutes()
}
