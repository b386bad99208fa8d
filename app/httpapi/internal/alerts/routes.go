// Package alerts serves channels, alert rules, alerts and hooks. [Routes]
// registers the routes, and [Service] is the part of the store that they use.
// Answers never have a secret of a channel or hook; only a test of one uses it,
// inside of the server.
package alerts

import (
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Channels
	AlertRules
	Alerts
	Hooks
}

// Secrets returns channels and hooks with their secrets, for the server's own use.
type Secrets interface {
	ChannelSecrets
	HookSecrets
}

// Options are optional abilities of a node. A nil one is missing.
type Options struct {
	Notifier  Notifier // tests channels
	Secrets   Secrets  // for tests
	PublicURL string   // address of this node for people
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
