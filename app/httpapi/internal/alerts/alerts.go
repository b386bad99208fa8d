package alerts

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
)

// tryList lists attempts to deliver a message.
type tryList struct {
	Items []alert.Try `json:"items" doc:"Oldest first"`
}

func (s *server) alertRoutes() {
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
	api.Serve(s.API, api.Endpoint{
		Id: "alert-list", Method: http.MethodGet, Path: "/v1/alerts", Scope: access.ScopeRead,
		Summary: "List what was to be told to whom, newest first, and what came of it",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[alert.Alert], error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return core.Page[alert.Alert]{}, err
		}
		if err := api.OneOf("state", in.State, alert.Pending, alert.Sent, alert.Failed, alert.Suppressed); err != nil {
			return core.Page[alert.Alert]{}, err
		}
		return api.Page(s.service.Alerts(ctx, alert.Filter{
			Paging:    core.Paging{Limit: in.Limit, Cursor: in.Cursor},
			Namespace: ns, Channel: in.Channel, Monitor: in.Monitor, Incident: in.Incident, State: in.State, ID: in.ID,
		}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "alert-tries", Method: http.MethodGet, Path: "/v1/alerts/{id}/tries", Scope: access.ScopeRead,
		Summary: "List the attempts to deliver the message that an alert went with",
	}, func(ctx context.Context, c *api.Call, in *api.ByID) (tryList, error) {
		ns, err := in.Resolve(c, "alert")
		if err != nil {
			return tryList{}, err
		}
		tries, err := s.service.AlertTries(ctx, ns, in.ID)
		return tryList{api.List(tries)}, err
	})

	api.ServeDocument(s.API, api.Document[alert.Rule]{
		Id: "alert-rule", Path: "/v1/alert-rules", One: "an alert rule", Many: "alert rules",
		Ending: "Its alerts that wait for quiet hours, maintenance or the time of a reminder are suppressed, unless another rule sends them there.",
		Owner:  func(d *alert.Rule) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:   s.service.SaveAlertRule, Drop: s.service.DeleteAlertRule, Read: s.service.AlertRule, List: s.service.AlertRules,
	})
}
