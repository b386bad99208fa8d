package monitors

import (
	"encoding/json"
	"fmt"

	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/monitor"
)

func assignIncident(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	i, err := p.api.AssignIncident(p.R.Context(), p.Namespace, id, p.R.PostFormValue("to"))
	if err != nil {
		return err
	}
	return p.Done(p.LinkIn(i.Namespace, "incidents", id), "Incident %d of %s is assigned to %s.", id, i.Monitor, i.Assignee())
}

func unassignIncident(p *page) error {
	id, err := p.PathID("incident")
	if err != nil {
		return err
	}
	i, err := p.api.UnassignIncident(p.R.Context(), p.Namespace, id)
	if err != nil {
		return err
	}
	return p.Done(p.LinkIn(i.Namespace, "incidents", id), "Incident %d of %s is assigned to no one.", id, i.Monitor)
}

// AssignIncident asks to whom an incident is assigned.
func (p *page) AssignIncident(i monitor.Incident) parts.Confirm {
	body, _ := json.Marshal(map[string]string{"to": "Ann Lee"}) // plain words
	cmd := p.Command("POST", p.APIPath(fmt.Sprintf("/v1/incidents/%d/assign", i.ID)), string(body), "incident", "assign", fmt.Sprint(i.ID), "Ann Lee")
	return parts.Confirm{
		ID: "assign", Button: "Assign", Title: fmt.Sprintf("Assign incident %d?", i.ID),
		Text:   "Others see whose work it is. No notification is sent.",
		Action: p.LinkIn(i.Namespace, "incidents", i.ID, "assign"),
		Fields: []parts.Field{parts.NewField("to", "Person", "text", i.Assignee(), "Any name. Empty: you.", nil)}, Cmd: &cmd,
	}
}
