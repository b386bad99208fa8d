// Package find is the page that finds pages, things and actions. The palette of all pages shows it.
package find

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the page uses.
type API interface{ findAPI }

// page is one request, with the fields and methods for its templates.
type page struct {
	*frame.Page
	api API
}

type routes = frame.Routes[*page]

// Area is the page, for the console.
func Area() frame.Area[API] {
	return frame.NewArea(templates, func(p *frame.Page, api API) *page { return &page{p, api} }, findRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: template.FuncMap{}})
