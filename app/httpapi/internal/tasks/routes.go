// Package tasks serves tasks, and cycles and workflows, which are tasks with
// members or steps. [Routes] registers the routes, and [Service] is the part of
// the store that they use. Answers have no secrets of a task.
package tasks

import (
	"net/http"

	"github.com/belfry-run/belfry/app/httpapi/internal/api"
)

// Service is the part of the store that these routes use.
type Service interface {
	Tasks
	Cycles
	Workflows
}

// Options are optional abilities of a server.
type Options struct {
	Links  Links        // resolves the keys of links; nil: links are not served
	People http.Handler // serves the pages of links to people; nil: people see JSON
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
