package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry"
)

// tryList is attempts to deliver a message.
type tryList struct {
	Items []belfry.AlertTry `json:"items" doc:"Oldest first"`
}

func (s *Server) alertRoutes() {
	type listing struct {
		Namespace string            `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Channel   string            `query:"channel" doc:"Only alerts to this channel"`
		Monitor   string            `query:"monitor" doc:"Only alerts about this monitor"`
		Incident  int64             `query:"incident" minimum:"0" doc:"Only alerts about this outage"`
		State     belfry.AlertState `query:"state" doc:"Only alerts in this state: pending, sent, failed or suppressed"`
		ID        int64             `query:"id" minimum:"0" doc:"Only the alert with this number"`
		Limit     int               `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string            `query:"cursor" doc:"Next of the page before"`
	}
	serve(s, endpoint{
		id: "alert-list", method: http.MethodGet, path: "/v1/alerts", scope: belfry.ScopeRead,
		summary: "List what was to be told to whom, newest first, and what came of it",
	}, func(ctx context.Context, c *call, in *listing) (belfry.Page[belfry.Alert], error) {
		ns, err := inNamespace(c.token, "namespace", in.Namespace)
		if err != nil {
			return belfry.Page[belfry.Alert]{}, err
		}
		if err := oneOf("state", in.State, belfry.AlertPending, belfry.AlertSent, belfry.AlertFailed, belfry.AlertSuppressed); err != nil {
			return belfry.Page[belfry.Alert]{}, err
		}
		return page(s.service.Alerts(ctx, belfry.AlertFilter{
			Paging:    belfry.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Channel: in.Channel, Monitor: in.Monitor, Incident: in.Incident, State: in.State, ID: in.ID,
		}))
	})

	serve(s, endpoint{
		id: "alert-tries", method: http.MethodGet, path: "/v1/alerts/{id}/tries", scope: belfry.ScopeRead,
		summary: "List the attempts to deliver the message that an alert went with",
	}, func(ctx context.Context, c *call, in *byID) (tryList, error) {
		ns, err := in.resolve(c, "alert")
		if err != nil {
			return tryList{}, err
		}
		tries, err := s.service.AlertTries(ctx, ns, in.ID)
		return tryList{list(tries)}, err
	})

	serveDocument(s, document[belfry.AlertRule]{
		id: "alert-rule", path: "/v1/alert-rules", one: "an alert rule", many: "alert rules",
		ending: "Its alerts that wait for quiet hours, maintenance or the time of a reminder are suppressed, unless another rule sends them there.",
		owner:  func(d *belfry.AlertRule) (namespace, name *string) { return &d.Namespace, &d.Name },
		save:   s.service.SaveAlertRule, drop: s.service.DeleteAlertRule, read: s.service.AlertRule, list: s.service.AlertRules,
	})
}
