// Package queues has the pages about queues. The console mounts its [Area], and
// [API] is the part of the API that they use. It knows no other area; shared
// parts are in app/ui/console/internal.
package queues

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/flow"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	forms.Edits
	queueAPI
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
		queueRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"limitTexts": flow.LimitTexts,
	"queueLacks": queueLacks,
	"queueState": queueState,
}
