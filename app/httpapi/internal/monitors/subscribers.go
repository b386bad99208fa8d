package monitors

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/public"
	"github.com/belfry-run/belfry/view"
)

// Subscribers lists the subscribers of status pages.
type Subscribers interface {
	Subscribers(ctx context.Context, f view.SubscriberFilter) (core.Page[public.Subscriber], error)
	CountSubscribers(ctx context.Context, namespace, page string) (view.SubscriberCounts, error)
	RemoveSubscriber(ctx context.Context, namespace, page string, id int64) error
}

func (s *server) subscriberRoutes() {
	const list = "/v1/status-pages/{name}/subscribers"
	type listing struct {
		Name      string `path:"name"`
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default"`
		Limit     int    `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor    string `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "subscriber-list", Method: http.MethodGet, Path: list, Scope: access.ScopeAdmin,
		Summary: "List the subscribers of a status page with their addresses, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[public.Subscriber], error) {
		ns, err := (&api.ByName{Name: in.Name, Namespace: in.Namespace}).Resolve(c)
		if err != nil {
			return core.Page[public.Subscriber]{}, err
		}
		return api.Page(s.service.Subscribers(ctx, view.SubscriberFilter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, StatusPage: in.Name}))
	})

	api.Serve(s.API, api.Endpoint{
		Id: "subscriber-count", Method: http.MethodGet, Path: "/v1/status-pages/{name}/subscriber-counts", Scope: access.ScopeRead,
		Summary: "Count the subscribers of a status page",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (view.SubscriberCounts, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return view.SubscriberCounts{}, err
		}
		return s.service.CountSubscribers(ctx, ns, in.Name)
	})

	api.Serve(s.API, api.Endpoint{
		Id: "subscriber-remove", Method: http.MethodDelete, Path: list + "/{id}", Scope: access.ScopeAdmin,
		Summary: "Remove a subscriber of a status page",
	}, func(ctx context.Context, c *api.Call, in *announcing) (api.None, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return api.None{}, err
		}
		return api.None{}, s.service.RemoveSubscriber(ctx, ns, in.Name, in.ID)
	})
	s.visitorRoutes()
}

// visitorRoutes serves visitors without a token. Calls that make Belfry send a message are limited.
func (s *server) visitorRoutes() {
	if s.opts.Subscribe == nil {
		return
	}
	s.Mux.HandleFunc("POST /status/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/subscribe") {
			if err := s.AdmitVisitor(r.Context()); err != nil {
				s.refuseVisitor(w, r, err)
				return
			}
		}
		s.opts.Subscribe.ServeHTTP(w, r)
	})
	s.Mux.Handle("GET "+public.SubscriptionPath+"{key}", s.opts.Subscribe)
	s.Mux.Handle("POST "+public.SubscriptionPath+"{key}", s.opts.Subscribe)
}

// refuser answers errors with an HTML page. The handler of subscriptions may implement it.
type refuser interface {
	Refuse(w http.ResponseWriter, r *http.Request, status int, err *core.Error)
}

// refuseVisitor answers the error of a form with a page, and that of a program like the API.
func (s *server) refuseVisitor(w http.ResponseWriter, r *http.Request, err error) {
	page, is := s.opts.Subscribe.(refuser)
	if !is || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.Refuse(r.Context(), w, err)
		return
	}
	p := api.Describe(err, "")
	maps.Copy(w.Header(), p.GetHeaders())
	page.Refuse(w, r, p.Status, p.AsError())
}
