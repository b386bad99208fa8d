// Package tasks serves tasks, and cycles, which are tasks that have members.
package tasks

import (
	"net/http"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is what these routes need of the one that does the work.
type Service interface {
	Tasks
	Cycles
	Workflows
}

// Options are what a server may be able to do besides.
type Options struct {
	Links  Links        // answers the key of a link; nil: links are not served
	People http.Handler // is shown to people where links lead; nil: they see JSON
}

// server serves the routes of this package.
type server struct {
	*api.API
	service Service
	links   Links
}

// Routes registers the routes of this package.
func Routes(a *api.API, s Service, o Options) {
	r := &server{API: a, service: s, links: o.Links}
	r.taskRoutes()
	r.cycleRoutes()
	r.workflowRoutes()
	if o.Links != nil {
		r.answerRoutes(o.People)
	}
}
