package statuspages

import (
	"context"
	"net/url"
	"strconv"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/ui/console/internal/frame"
	"github.com/belfry-run/belfry/app/ui/console/internal/parts"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

type subscriberAPI interface {
	Subscribers(ctx context.Context, f view.SubscriberFilter) (core.Page[public.Subscriber], error)
	CountSubscribers(ctx context.Context, namespace, page string) (view.SubscriberCounts, error)
	RemoveSubscriber(ctx context.Context, namespace, page string, id int64) error
}

var subscriberRoutes = routes{
	"GET /status-pages/{name}/subscribers":              subscriberList,
	"POST /status-pages/{name}/subscribers/{id}/remove": removeSubscriber,
}

// subscribersData is the subscribers of a status page. Only those of admins have addresses.
type subscribersData struct {
	Page   public.StatusPage
	Counts view.SubscriberCounts
	All    core.Page[public.Subscriber]
}

// IsOn reports whether visitors can subscribe.
func (d subscribersData) IsOn() bool { return d.Page.Subscribe != nil }

func subscriberList(p *page) error {
	name := p.R.PathValue("name")
	var d subscribersData
	ctx := p.R.Context()
	reads := []func() error{
		frame.Get(&d.Page, func() (public.StatusPage, error) { return p.api.StatusPage(ctx, p.Namespace, name) }),
		frame.Get(&d.Counts, func() (view.SubscriberCounts, error) { return p.api.CountSubscribers(ctx, p.Namespace, name) }),
	}
	if p.Can(access.ScopeAdmin) {
		reads = append(reads, frame.Get(&d.All, func() (core.Page[public.Subscriber], error) {
			return p.api.Subscribers(ctx, view.SubscriberFilter{Paging: core.Paging{Cursor: p.Query("cursor")}, Namespace: p.Namespace, StatusPage: name})
		}))
	}
	if err := frame.Together(reads...); err != nil {
		return err
	}
	return p.Show("subscribers", d)
}

// RemoveSubscriber asks before a subscriber is removed.
func (p *page) RemoveSubscriber(s public.Subscriber) parts.Confirm {
	id := strconv.FormatInt(s.ID, 10)
	cmd := p.Command("DELETE", p.APIPath("/v1/status-pages/"+url.PathEscape(s.Page)+"/subscribers/"+id), "", "subscriber", "remove", s.Page, id)
	return parts.Confirm{
		ID: "remove-" + id, Button: "Remove", Danger: true, Title: "Remove this subscriber?", Text: s.Address + " gets no further message, and is not notified of that.",
		Action: p.Link("status-pages", s.Page, "subscribers", s.ID, "remove"), Cmd: &cmd,
	}
}

func removeSubscriber(p *page) error {
	id, err := p.PathID("subscriber")
	if err != nil {
		return err
	}
	name := p.R.PathValue("name")
	if err := p.api.RemoveSubscriber(p.R.Context(), p.Namespace, name, id); err != nil {
		return err
	}
	return p.Done(p.Link("status-pages", name, "subscribers"), "Subscriber %d is removed.", id)
}
