// Package audit is the page about what was changed, and by whom.
package audit

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is what the pages ask of the node.
type API interface {
	auditAPI
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
		auditRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"auditNouns": auditNounsText,
}
