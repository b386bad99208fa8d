// Package programs has the pages about programs and their uploads. The console
// mounts its [Area], and [API] is the part of the API that they use. It knows no
// other area; shared parts are in app/ui/console/internal.
package programs

import (
	"embed"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	programAPI
	uploadAPI
}

// page is one request, with the fields and methods for its templates.
type page struct {
	*frame.Page
	api API
}

type routes = frame.Routes[*page]

// Area is the pages, for the console.
func Area() frame.Area[API] {
	area := frame.NewArea(templates, func(p *frame.Page, api API) *page { return &page{p, api} },
		programRoutes, uploadRoutes)
	area.Uploads = []string{"POST /programs/-new", "POST /programs/{name}/upload"}
	return area
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: nil})
