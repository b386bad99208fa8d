// Package workers has the pages about workers. The console mounts its [Area],
// and [API] is the part of the API that they use. It knows no other area; shared
// parts are in app/ui/console/internal.
package workers

import (
	"context"
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/job"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	workerAPI
	Queues(ctx context.Context) ([]job.QueueStats, error)
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
		workerRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"kindNames":     kindNames,
	"lanesOn":       lanesOn,
	"heldLimits":    heldLimits,
	"offeredMemory": offeredMemory,
	"workerMachine": workerMachine,
	"workerLacks":   workerLacks,
	"slotsText":     slotsText,
}
