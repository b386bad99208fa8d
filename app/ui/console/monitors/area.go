// Package monitors has the pages about monitors, their results and versions of
// pages, incidents, and sent alerts. The console mounts its [Area], and [API] is
// the part of the API that they use. It knows no other area; shared parts are in
// app/ui/console/internal.
package monitors

import (
	"embed"
	"html/template"

	"github.com/belfry-run/belfry/app/ui/console/internal/forms"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
)

//go:embed *.html
var files embed.FS

// API is the part of the node's API that the pages use.
type API interface {
	forms.Edits
	monitorsAPI
	monitorFormAPI
	incidentAPI
	versionAPI
	alertAPI
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
		monitorFormRoutes, monitorRoutes, versionRoutes, incidentRoutes, alertRoutes)
}

var templates = frame.NewTemplates(frame.Set{Files: files, Funcs: funcs}, forms.Parts)

var funcs = template.FuncMap{
	"cause":         cause,
	"endedBy":       endedBy,
	"incidentState": incidentState,
	"lacks":         lacks,
	"rowMenu":       rowMenu,
	"latencyOrNone": latencyOrNone,
	"fewTags":       fewTags,
	"otherTags":     otherTags,
	"monitorKinds":  func() any { return monitorKinds },
	"outcomeChip":   outcomeChip,
	"phases":        phases,
	"signs":         signs,
	"target":        targetText,
	"shortTarget":   shortTarget,
	"uptimeStats":   uptimeStats,
	"why":           why,
}
