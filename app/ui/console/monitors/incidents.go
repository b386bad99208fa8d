package monitors

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

type incidentAPI interface {
	Incidents(ctx context.Context, f view.IncidentFilter) (core.Page[monitor.Incident], error)
	Incident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	AcknowledgeIncident(ctx context.Context, namespace string, id int64, note string) (monitor.Incident, error)
	UnacknowledgeIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	AssignIncident(ctx context.Context, namespace string, id int64, to string) (monitor.Incident, error)
	UnassignIncident(ctx context.Context, namespace string, id int64) (monitor.Incident, error)
	UpdateIncident(ctx context.Context, namespace string, id int64, u monitor.Update) (monitor.Update, error)
	Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error)
	Titles(ctx context.Context, q view.Named) (view.Titles, error)
}

var incidentRoutes = routes{
	"GET /incidents":      incidentList,
	"GET /incidents/{id}": incidentPage,

	"POST /incidents/{id}/acknowledge":   acknowledgeIncident,
	"POST /incidents/{id}/unacknowledge": unacknowledgeIncident,
	"POST /incidents/{id}/assign":        assignIncident,
	"POST /incidents/{id}/unassign":      unassignIncident,
	"POST /incidents/{id}/update":        updateIncident,
}

type incidentsData struct {
	Monitor  string
	Assigned string
	State    string // open, over, or empty for both beside each other
	Open     core.Page[monitor.Incident]
	Past     core.Page[monitor.Incident]
	Titles   view.Titles
}

func incidentList(p *page) error {
	d := incidentsData{Monitor: p.Query("monitor"), Assigned: p.Query("assigned"), State: p.Query("state")}
	switch d.State {
	case "", "open", "over":
	default:
		return core.InvalidField("state", d.State, "is no state of an incident", "open or over")
	}
	f := view.IncidentFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, Monitor: d.Monitor, Assigned: d.Assigned}
	read := func(to *core.Page[monitor.Incident], open bool) func() error {
		f := f
		f.Open, f.Over = open, !open
		return frame.Get(to, func() (core.Page[monitor.Incident], error) { return p.api.Incidents(p.R.Context(), f) })
	}
	var reads []func() error
	if d.State != "over" {
		reads = append(reads, read(&d.Open, true))
	}
	if d.State != "open" {
		reads = append(reads, read(&d.Past, false))
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	named := view.Named{Namespace: p.Namespace, Monitors: []string{d.Monitor}}
	for _, i := range slices.Concat(d.Open.Items, d.Past.Items) {
		named.Monitors = append(named.Monitors, i.Monitor)
	}
	var err error
	if d.Titles, err = frame.Titles(p.R.Context(), p.api, named); err != nil {
		return err
	}
	return p.Show("incidents", d)
}

// IncidentTabs are the views of the list.
func (p *page) IncidentTabs(d incidentsData) []parts.Tab {
	tabs := []parts.Tab{parts.NewTab("All", p.Here("state", "", "cursor", ""), d.State == "", "")}
	for _, s := range []string{"open", "over"} {
		tabs = append(tabs, parts.NewTab(parts.SentenceCase(s), p.Here("state", s, "cursor", ""), d.State == s, ""))
	}
	return tabs
}

// IncidentPager goes on with those that are open or over. Where both are
// shown, each goes on in a view of its own.
func (p *page) IncidentPager(state, next string) parts.Pager {
	g := p.Pager(next)
	if g.Next != "" {
		g.Next = p.With(g.Next, "state", state)
	}
	return g
}

// IncidentsCommand is the list without this page.
func (p *page) IncidentsCommand(d incidentsData) parts.Command {
	cli := []string{"incident", "list"}
	var query []any
	if d.Monitor != "" {
		cli, query = append(cli, "--monitor", d.Monitor), append(query, "monitor", d.Monitor)
	}
	if d.Assigned != "" {
		cli, query = append(cli, "--assigned", d.Assigned), append(query, "assigned", d.Assigned)
	}
	if d.State != "" {
		cli, query = append(cli, "--"+d.State), append(query, d.State, "true")
	}
	return p.Command("GET", p.APIPath("/v1/incidents", query...), "", cli...)
}

// incidentRows is the part "incident-rows".
type incidentRows struct {
	Rows     []incidentRow
	Response bool // some incident of the page is acknowledged or assigned
}

type incidentRow struct {
	I                 monitor.Incident
	Title             string // of the monitor; empty: none
	Link, MonitorLink string
	In                string // namespace, where several are shown
	State, Lasted     string
	Began             parts.Moment
	Cause             string
	Response          string // who acknowledged it, and whose it is
	AssigneeLink      string // all of the person it is assigned to; empty: no one
}

// IncidentRows are incidents in a table. All tables of the page have the same columns.
func (p *page) IncidentRows(d incidentsData, some []monitor.Incident) (rows incidentRows) {
	for _, i := range slices.Concat(d.Open.Items, d.Past.Items) {
		rows.Response = rows.Response || i.Acknowledged != nil || i.Assignee() != ""
	}
	for _, i := range some {
		r := incidentRow{
			I: i, Title: d.Titles.Monitor(i.Monitor), Link: p.LinkIn(i.Namespace, "incidents", i.ID), MonitorLink: p.LinkIn(i.Namespace, "monitors", i.Monitor),
			State: incidentState(i), Lasted: incidentSpan(i, p.Now), Began: p.When(i.StartedAt), Cause: parts.Short(300, parts.FirstLine(why(i.Code, i.Message))),
		}
		var response []string
		if to := i.Assignee(); to != "" {
			r.AssigneeLink = p.With(p.Link("incidents"), "assigned", to)
			response = append(response, "assigned to "+to)
		}
		if i.Acknowledged != nil {
			response = append(response, "acknowledged by "+i.Acknowledged.By)
		}
		r.Response = strings.Join(response, ", ")
		if p.Namespace == core.AnyNamespace {
			r.In = i.Namespace
		}
		rows.Rows = append(rows.Rows, r)
	}
	return rows
}

// AlertCount is how many alerts an incident had, as far as they are shown.
func (p *page) AlertCount(d incidentData) string {
	text := fmt.Sprintf("%d of %d sent", d.Sent(), len(d.Page.Items))
	if d.Page.Next != "" || p.Query("cursor") != "" {
		text += " here"
	}
	return text
}

// Lasted is how long an incident lasted, or lasts so far.
func (p *page) Lasted(i monitor.Incident) string {
	if i.EndedAt.IsZero() {
		return incidentSpan(i, p.Now) + " so far"
	}
	return incidentSpan(i, p.Now)
}

func incidentSpan(i monitor.Incident, now time.Time) string {
	if i.EndedAt.IsZero() {
		return core.SpanText(max(0, now.Sub(i.StartedAt)))
	}
	return core.SpanText(i.EndedAt.Sub(i.StartedAt))
}

// incidentState is the word for an incident's chip.
func incidentState(i monitor.Incident) string {
	return parts.YesNo(i.EndedAt.IsZero(), "ongoing", "over")
}

// endedBy is why an incident ended, in words.
func endedBy(i monitor.Incident) string {
	return map[string]string{
		"recovered": "the target was good again", "paused": "the monitor was paused", "edited": "the monitor was pointed elsewhere", "deleted": "the monitor was deleted",
	}[i.EndedBy]
}

type incidentData struct {
	monitor.Incident
	alertLog
	Title   string // of the monitor; empty: none
	Headers []string
	Draft   monitor.Update // as it was typed, if it was refused
	Err     error
}

func incidentPage(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	d, err := p.incident(id)
	if err != nil {
		return err
	}
	return p.Show("incident", d)
}

func (p *page) incident(id int64) (d incidentData, err error) {
	if d.Incident, err = p.api.Incident(p.R.Context(), p.Namespace, id); err != nil {
		return d, err
	}
	var titles view.Titles
	err = frame.Together(
		frame.Get(&d.alertLog, func() (alertLog, error) {
			return p.alertLog(alert.Filter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: d.Namespace, Incident: id})
		}),
		frame.Get(&titles, func() (view.Titles, error) {
			return frame.Titles(p.R.Context(), p.api, view.Named{Namespace: d.Namespace, Monitors: []string{d.Monitor}})
		}),
	)
	d.Title = titles.Monitor(d.Monitor)
	if d.Snapshot != nil {
		d.Headers = slices.Sorted(maps.Keys(d.Snapshot.Headers))
	}
	return d, err
}

// Calm is how long ago the last incident ended.
func (d incidentsData) Calm() time.Time {
	if d.State != "" || len(d.Open.Items) > 0 || len(d.Past.Items) == 0 {
		return time.Time{}
	}
	return d.Past.Items[0].EndedAt
}
