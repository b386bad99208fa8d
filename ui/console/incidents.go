package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry"
)

type incidentAPI interface {
	Incidents(ctx context.Context, f belfry.IncidentFilter) (belfry.Page[belfry.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (belfry.Incident, error)
	Alerts(ctx context.Context, f belfry.AlertFilter) (belfry.Page[belfry.Alert], error)
}

var incidentRoutes = []route{
	{"GET /incidents", incidentList},
	{"GET /incidents/{id}", incidentPage},
}

const (
	maxOpenIncidents = 200
	incidentAlerts   = 500 // alerts of a monitor among which those of an incident are looked for
)

type incidentsData struct {
	Monitor string
	Open    belfry.Page[belfry.Incident] // on the first page
	Past    belfry.Page[belfry.Incident]
}

func incidentList(p *page) error {
	ctx := p.r.Context()
	d := incidentsData{Monitor: p.Query("monitor")}
	f := belfry.IncidentFilter{Paging: belfry.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: d.Monitor}
	err := p.together(
		get(&d.Past, func() (belfry.Page[belfry.Incident], error) { return p.api.Incidents(ctx, f) }),
		get(&d.Open, func() (belfry.Page[belfry.Incident], error) {
			if f.Cursor != "" {
				return belfry.Page[belfry.Incident]{}, nil
			}
			open := f
			open.Open, open.Limit = true, maxOpenIncidents
			return p.api.Incidents(ctx, open)
		}),
	)
	if err != nil {
		return err
	}
	d.Past.Items = slices.DeleteFunc(d.Past.Items, func(i belfry.Incident) bool { return i.EndedAt.IsZero() })
	return p.show("incidents", d)
}

// Lasted is how long an incident lasted, or lasts so far.
func (p *page) Lasted(i belfry.Incident) string {
	if i.EndedAt.IsZero() {
		return spanText(max(0, p.Now.Sub(i.StartedAt))) + " so far"
	}
	return spanText(i.EndedAt.Sub(i.StartedAt))
}

// IncidentState is the word for an incident's chip.
func (p *page) IncidentState(i belfry.Incident) string {
	return yesNo(i.EndedAt.IsZero(), "ongoing", "over")
}

// EndedBy is why an incident ended, in words.
func (p *page) EndedBy(i belfry.Incident) string {
	return map[string]string{
		"recovered": "the target was good again", "paused": "the monitor was paused", "edited": "the monitor was pointed elsewhere", "deleted": "the monitor was deleted",
	}[i.EndedBy]
}

type incidentData struct {
	belfry.Incident
	Alerts  alertLog
	Looked  bool // not all alerts of the monitor were looked at
	Headers []string
}

func incidentPage(p *page) error {
	ctx := p.r.Context()
	id, err := strconv.ParseInt(p.r.PathValue("id"), 10, 64)
	if err != nil {
		return belfry.Errorf(belfry.NotFound, "there is no incident %q", p.r.PathValue("id")).WithHint("see the list of incidents")
	}
	var d incidentData
	if d.Incident, err = p.api.Incident(ctx, p.Namespace, id); err != nil {
		return err
	}
	d.Alerts, err = p.alertLogWhere(belfry.AlertFilter{Paging: belfry.Paging{Limit: incidentAlerts}, Namespace: d.Namespace, Monitor: d.Monitor},
		func(a belfry.Alert) bool { return a.Notice.Incident == id })
	if err != nil {
		return err
	}
	d.Looked, d.Alerts.Page.Next = d.Alerts.Page.Next != "", ""
	if d.Snapshot != nil {
		d.Headers = sortedKeys(d.Snapshot.Headers)
	}
	return p.show("incident", d)
}

// IncidentSpan is the time of an incident as a filter of results has it.
func (p *page) IncidentTitle(i belfry.Incident) string {
	return fmt.Sprintf("%s, %s", i.Monitor, i.StartedAt.UTC().Format("2 Jan 2006, 15:04"))
}

// NoIncidentSince is how long ago the last incident ended.
func (d incidentsData) Calm() time.Time {
	if len(d.Open.Items) > 0 || len(d.Past.Items) == 0 {
		return time.Time{}
	}
	return d.Past.Items[0].EndedAt
}

// Log is who was told.
func (d incidentData) Log() alertLog { return d.Alerts }
