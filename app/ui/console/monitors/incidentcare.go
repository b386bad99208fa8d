package monitors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core/title"
	"github.com/belfry-run/belfry/monitor"
)

func acknowledgeIncident(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	i, err := p.api.AcknowledgeIncident(p.R.Context(), p.Namespace, id, p.R.PostFormValue("note"))
	if err != nil {
		return err
	}
	return p.DoneUndo(p.LinkIn(i.Namespace, "incidents", id), p.LinkIn(i.Namespace, "incidents", id, "unacknowledge"), "Incident %d of %s is acknowledged.", id, i.Monitor)
}

func unacknowledgeIncident(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	i, err := p.api.UnacknowledgeIncident(p.R.Context(), p.Namespace, id)
	if err != nil {
		return err
	}
	return p.Done(p.LinkIn(i.Namespace, "incidents", id), "Incident %d of %s is not acknowledged.", id, i.Monitor)
}

func updateIncident(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	u := monitor.Update{State: monitor.IncidentState(p.R.PostFormValue("state")), Text: p.R.PostFormValue("text"), Public: p.R.PostFormValue("public") != ""}
	written, err := p.api.UpdateIncident(p.R.Context(), p.Namespace, id, u)
	if err == nil {
		return p.Done(p.Link("incidents", id), "Update %d is written.", written.Seq)
	}
	d, readErr := p.incident(id)
	if status := p.Site.Status(err); readErr != nil || status != http.StatusUnprocessableEntity && status != http.StatusConflict {
		return err
	}
	d.Draft, d.Err = u, err
	return p.Again("incident", d, err)
}

// AcknowledgeIncident asks before an incident is acknowledged.
func (p *page) AcknowledgeIncident(i monitor.Incident) parts.Confirm {
	body, _ := json.Marshal(map[string]string{"note": "on it"}) // plain words
	cmd := p.Command("POST", p.APIPath(fmt.Sprintf("/v1/incidents/%d/acknowledge", i.ID)), string(body), "incident", "acknowledge", fmt.Sprint(i.ID), "--note", "on it")
	return parts.Confirm{
		ID: "acknowledge", Button: "Acknowledge", Title: fmt.Sprintf("Acknowledge incident %d?", i.ID),
		Text:   "Others see that you look after it. No reminder of it is sent; its end is.",
		Action: p.LinkIn(i.Namespace, "incidents", i.ID, "acknowledge"),
		Fields: []parts.Field{parts.NewField("note", "Note", "text", "", "What you do about it. It may stay empty.", nil)}, Cmd: &cmd,
	}
}

// UpdateFields are the inputs of an update.
func (d incidentData) UpdateFields() []parts.Field {
	states, names := []string{""}, map[string]string{"": "Note"}
	for _, s := range monitor.IncidentStates {
		states = append(states, string(s))
		names[string(s)] = parts.SentenceCase(string(s))
	}
	state := parts.NewField("state", "State", "text", string(d.Draft.State), "It does not end the incident: checks do.", d.Err).Among(states...)
	state.Names = names
	return []parts.Field{
		parts.NewField("text", "Update", "area", d.Draft.Text, "It cannot be changed afterwards.", d.Err).Need(), state,
		parts.NewField("public", "Show on status pages", "check", strconv.FormatBool(d.Draft.Public), "Without your name.", d.Err),
	}
}

// UpdateCommand writes an update without this page.
func (p *page) UpdateCommand(i monitor.Incident) parts.Command {
	body, _ := json.Marshal(monitor.Update{State: monitor.IncidentIdentified, Text: "the disk is full"}) // plain words
	return p.Command("POST", p.APIPath(fmt.Sprintf("/v1/incidents/%d/updates", i.ID)), string(body), "incident", "update", fmt.Sprint(i.ID), "--state", "identified", "the disk is full")
}

// happening is an entry of an incident's timeline.
type happening struct {
	At     time.Time
	State  string // of its chip; empty: none
	What   string
	Text   string // in the words of a person
	By     string
	Public bool
}

// Timeline has the events of the incident, oldest first: of the target, of shown notifications, and of people.
func (d incidentData) Timeline() (all []happening) {
	add := func(h happening) {
		if !h.At.IsZero() {
			all = append(all, h)
		}
	}
	add(happening{At: d.LastGoodAt, What: "Last good check"})
	add(happening{At: d.StartedAt, State: "down", What: "First failure: " + cause(d.Code)})
	for _, a := range d.Page.Items {
		switch a.State {
		case alert.Sent, alert.Failed:
			add(happening{At: a.EndedAt, State: string(a.State), What: a.Notification.Title, By: "to " + title.Named(d.Titles.Channel(a.Channel), a.Channel)})
		}
	}
	if a := d.Acknowledged; a != nil {
		add(happening{At: a.At, State: "acknowledged", Text: a.Note, By: a.By})
	}
	for _, a := range d.Assignments {
		h := happening{At: a.At, State: "assigned", What: "to " + a.To, By: a.By}
		if a.To == "" {
			h.State, h.What = "unassigned", ""
		}
		add(h)
	}
	for _, u := range d.Updates {
		add(happening{At: u.At, State: cmp.Or(string(u.State), "note"), Text: u.Text, By: u.Actor, Public: u.Public})
	}
	end := endedBy(d.Incident)
	if end != "" {
		end = "Over: " + end
	}
	add(happening{At: d.EndedAt, State: "over", What: cmp.Or(end, "Over")})
	slices.SortStableFunc(all, func(a, b happening) int { return a.At.Compare(b.At) })
	return all
}
