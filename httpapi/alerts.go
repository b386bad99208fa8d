package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
)

// tryList is attempts to deliver a message.
type tryList struct {
	Items []alert.Try `json:"items" doc:"Oldest first"`
}

func (s *Server) alertRoutes() {
	type listing struct {
		Namespace string      `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Channel   string      `query:"channel" doc:"Only alerts to this channel"`
		Monitor   string      `query:"monitor" doc:"Only alerts about this monitor"`
		Incident  int64       `query:"incident" minimum:"0" doc:"Only alerts about this outage"`
		State     alert.State `query:"state" doc:"Only alerts in this state: pending, sent, failed or suppressed"`
		ID        int64       `query:"id" minimum:"0" doc:"Only the alert with this number"`
		Limit     int         `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string      `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "alert-list", method: http.MethodGet, path: "/v1/alerts", scope: access.ScopeRead,
		summary: "List what was to be told to whom, newest first, and what came of it",
	}, func(ctx context.Context, c *call, in *listing) (core.Page[alert.Alert], error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[alert.Alert]{}, err
		}
		if err := oneOf("state", in.State, alert.Pending, alert.Sent, alert.Failed, alert.Suppressed); err != nil {
			return core.Page[alert.Alert]{}, err
		}
		return page(s.service.Alerts(ctx, alert.Filter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Channel: in.Channel, Monitor: in.Monitor, Incident: in.Incident, State: in.State, ID: in.ID,
		}))
	})

	serve(s, endpoint{
		id: "alert-tries", method: http.MethodGet, path: "/v1/alerts/{id}/tries", scope: access.ScopeRead,
		summary: "List the attempts to deliver the message that an alert went with",
	}, func(ctx context.Context, c *call, in *byID) (tryList, error) {
		ns, err := in.resolve(c, "alert")
		if err != nil {
			return tryList{}, err
		}
		tries, err := s.service.AlertTries(ctx, ns, in.ID)
		return tryList{list(tries)}, err
	})

	serveDocument(s, document[alert.Rule]{
		id: "alert-rule", path: "/v1/alert-rules", one: "an alert rule", many: "alert rules",
		ending: "Its alerts that wait for quiet hours, maintenance or the time of a reminder are suppressed, unless another rule sends them there.",
		owner:  func(d *alert.Rule) (namespace, name *string) { return &d.Namespace, &d.Name },
		save:   s.service.SaveAlertRule, drop: s.service.DeleteAlertRule, read: s.service.AlertRule, list: s.service.AlertRules,
	})
}
