// Package workers is the pages about workers.
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

// API is what the pages ask of the node.
type API interface {
	workerAPI
	Queues(ctx context.Context) ([]job.QueueStats, error)
}

// page is one request, and what templates see of it.
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
	"workerSlots":   workerSlots,
	"slotUse":       slotUse,
	"queueUse":      queueUse,
}
