// Package jobs has the pages about jobs: lists, searches and bulk actions, one job with its course and its log, and dead jobs.
package jobs

import (
	"context"
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/cycle"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	jobsAPI
	jobAPI
	workflowAPI
	signalAPI
	CycleStatus(ctx context.Context, namespace, name string) (cycle.Status, error)
}

// page is one request, with the fields and methods for its templates.
type page struct {
	*frame.Page
	api  API
	logs *logIndexes
}

type routes = frame.Routes[*page]

// Area is the pages, for the console.
func Area() frame.Area[API] {
	logs := &logIndexes{}
	return frame.NewArea(templates, func(p *frame.Page, api API) *page { return &page{p, api, logs} },
		jobsRoutes, deadRoutes, jobRoutes, signalRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"environment": environment,
	"exit":        exit,
	"attemptRan":  attemptRan,
	"bulkVerbs":   verbsFor,
	"foundText":   foundText,
	"jobLacks":    jobLacks,
	"groupSearch": groupSearch,
}
