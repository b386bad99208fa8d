// Package schedules is the pages about schedules, with backfills and the forecast of all.
package schedules

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
	scheduleAPI
	scheduleFormAPI
	schedulesAPI
	backfillsAPI
	forecastAPI
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
		scheduleFormRoutes, scheduleRoutes, schedulesRoutes, backfillRoutes, forecastRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs}, forms.Parts)

var funcs = template.FuncMap{
	"backfillBar":      backfillBar,
	"backfillFields":   backfillFields,
	"ranFor":           ranFor,
	"ruleKinds":        func() any { return ruleKinds },
	"scheduleSettings": settings,
}
