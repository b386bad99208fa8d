// Package audit has the page about changes: actor, time, object and fields. The
// console mounts its [Area], and [API] is the part of the API that it uses. It
// knows no other area, but others link to it.
package audit

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	auditAPI
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
		auditRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"auditNouns": auditNounsText,
}
