// Package cycles is the pages about cycles.
package cycles

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
	cycleAPI
	cycleFormAPI
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
		cycleFormRoutes, cycleRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs}, forms.Parts)

var funcs = template.FuncMap{
	"cycleLacks":    cycleLacks,
	"cycleProgress": cycleProgress,
	"cycleState":    cycleState,
	"dueMembers":    dueMembers,
}
