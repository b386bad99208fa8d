// Package tasks has the pages about tasks. The console mounts its [Area], and
// [API] is the part of the API that they use. It knows no other area; shared
// parts are in app/ui/console/internal.
package tasks

import (
	"context"
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	forms.Edits
	taskAPI
	daysAPI
	CountJobs(ctx context.Context, f job.Filter, o view.CountOptions) (job.Count, error)
	Jobs(ctx context.Context, f job.Filter) (core.Page[job.Job], error)
}

// page is one request, with the fields and methods for its templates.
type page struct {
	*frame.Page
	api API
}

type routes = frame.Routes[*page]

// Area is the pages, for the console.
func Area() frame.Area[API] {
	return frame.NewArea(templates, func(p *frame.Page, api API) *page { return &page{p, api} },
		taskRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs}, forms.Parts)

var funcs = template.FuncMap{
	"kindSettings": kindSettings,
	"typed":        typed,
	"within":       within,
}
