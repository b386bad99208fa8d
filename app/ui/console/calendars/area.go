// Package calendars is the pages about calendars.
package calendars

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is what the pages ask of the node.
type API interface {
	forms.Edits
	calendarsAPI
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
		calendarRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs}, forms.Parts)

var funcs = template.FuncMap{
	"closingKinds": func() any { return closingKinds },
	"closingLike":  closingLike,
	"closingText":  closingText,
}
