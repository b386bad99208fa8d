package httpapi

import (
	"context"
	"net/http"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/monitor"
	"github.com/belfry-run/belfry/view"
)

// document is what there is to serve of one noun whose definitions are saved as
// a whole: channels, alert rules, windows, status pages.
type document[T any] struct {
	id     string // of its operations: the noun
	path   string // of the list
	one    string // as it stands in a sentence, with its article
	many   string
	saving string // what is to be known of a change
	ending string // and of a deletion

	owner func(*T) (namespace, name *string)
	save  func(context.Context, T) (T, error)
	drop  func(ctx context.Context, namespace, name string) error
	read  func(ctx context.Context, namespace, name string) (T, error)
	list  func(context.Context, view.DocumentFilter) (core.Page[T], error)
	shown func(T) T // without secrets; nil: it has none
}

// serveDocument is the routes of a noun.
func serveDocument[T any](s *Server, d document[T]) {
	show := func(v T, err error) (T, error) {
		if d.shown != nil {
			v = d.shown(v)
		}
		return v, err
	}
	one := d.path + "/{name}"

	serve(s, endpoint{
		id: d.id + "-list", method: http.MethodGet, path: d.path, scope: access.ScopeRead,
		summary: "List " + d.many + " by name",
	}, func(ctx context.Context, c *call, in *namespaced) (core.Page[T], error) {
		f, err := in.filter(c)
		if err != nil {
			return core.Page[T]{}, err
		}
		p, err := page(d.list(ctx, f))
		for i, v := range p.Items {
			p.Items[i], _ = show(v, nil)
		}
		return p, err
	})

	serve(s, endpoint{
		id: d.id + "-show", method: http.MethodGet, path: one, scope: access.ScopeRead,
		summary: "Show " + d.one,
	}, func(ctx context.Context, c *call, in *byName) (v T, err error) {
		ns, err := in.resolve(c)
		if err != nil {
			return v, err
		}
		return show(d.read(ctx, ns, in.Name))
	})

	serveBody(s, endpoint{
		id: d.id + "-save", method: http.MethodPut, path: one, scope: access.ScopeAdmin,
		summary: "Create or replace " + d.one,
		doc:     "What the body leaves out gets its default, not what it was before." + d.saving,
	}, func(ctx context.Context, c *call, in *byName, v T) (_ T, err error) {
		namespace, name := d.owner(&v)
		if *name, err = agree("name", in.Name, *name); err != nil {
			return v, err
		}
		if *namespace, err = c.owner(in.Namespace, *namespace); err != nil {
			return v, err
		}
		return show(d.save(ctx, v))
	})

	serve(s, endpoint{
		id: d.id + "-delete", method: http.MethodDelete, path: one, scope: access.ScopeAdmin,
		summary: "Delete " + d.one,
		doc:     d.ending,
	}, func(ctx context.Context, c *call, in *byName) (none, error) {
		ns, err := in.resolve(c)
		if err != nil {
			return none{}, err
		}
		return none{}, d.drop(ctx, ns, in.Name)
	})
}

func (s *Server) channelRoutes() {
	serveDocument(s, document[alert.Channel]{
		id: "channel", path: "/v1/channels", one: "a channel", many: "channels",
		saving: " A secret that is written as it was shown stays, as long as the channel goes to the same place.",
		ending: "One that an alert rule names is kept.",
		owner:  func(d *alert.Channel) (namespace, name *string) { return &d.Namespace, &d.Name },
		save:   s.service.SaveChannel, drop: s.service.DeleteChannel, read: s.service.Channel, list: s.service.Channels,
		shown: alert.Channel.Redacted,
	})
	s.channelTest()
}

func (s *Server) statusPageRoutes() {
	serveDocument(s, document[monitor.StatusPage]{
		id: "status-page", path: "/v1/status-pages", one: "a status page", many: "status pages",
		saving: " What it names is shown to everyone.",
		owner:  func(d *monitor.StatusPage) (namespace, name *string) { return &d.Namespace, &d.Name },
		save:   s.service.SaveStatusPage, drop: s.service.DeleteStatusPage, read: s.service.StatusPage, list: s.service.StatusPages,
	})
}
