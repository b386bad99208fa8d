// Package home is the first page: running and failed jobs, incidents, and upcoming runs.
package home

import (
	"context"
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/schedule"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	homeAPI
	sampleAPI
	Forecast(ctx context.Context, a schedule.Ahead) (schedule.Forecast, error)
}

// needRow is a need on its page.
type needRow struct {
	Need need
	Page *page
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
		homeRoutes, sampleRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs})

var funcs = template.FuncMap{
	"share": share, "need": func(p *page, n need) needRow { return needRow{n, p} },
}
