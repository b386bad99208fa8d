package alerts

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
)

func (s *server) hookRoutes() {
	api.ServeDocument(s.API, api.Document[hook.Hook]{
		Id: "hook", Path: "/v1/hooks", One: "a hook", Many: "hooks",
		Saving: " A secret that is written as it was shown stays, as long as the URL has the same host. A change of it enables a disabled hook.",
		Ending: "Its pending events are not delivered.",
		Owner:  func(d *hook.Hook) (namespace, name *string) { return &d.Namespace, &d.Name },
		Save:   s.service.SaveHook, Drop: s.service.DeleteHook, Read: s.service.Hook, List: s.service.ListHooks,
		Shown: hook.Hook.Redacted,
	})

	api.Serve(s.API, api.Endpoint{
		Id: "hook-status", Method: http.MethodGet, Path: "/v1/hooks/{name}/status", Scope: access.ScopeRead,
		Summary: "Show how the deliveries of a hook are going, with the last of them",
	}, func(ctx context.Context, c *api.Call, in *api.ByName) (hook.Status, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return hook.Status{}, err
		}
		st, err := s.service.HookStatus(ctx, ns, in.Name)
		st.Deliveries = api.List(st.Deliveries)
		return st, err
	})

	api.Serve(s.API, api.Endpoint{
		Id: "hook-statuses", Method: http.MethodGet, Path: "/v1/hook-statuses", Scope: access.ScopeRead,
		Summary: "List by name how the deliveries of hooks are going",
	}, func(ctx context.Context, c *api.Call, in *api.Namespaced) (core.Page[hook.Standing], error) {
		f, err := in.Filter(c)
		if err != nil {
			return core.Page[hook.Standing]{}, err
		}
		return api.Page(s.service.HookStatuses(ctx, f))
	})

	type listing struct {
		api.ByName
		State  hook.State `query:"state" doc:"Only events in this state: pending or sent"`
		Type   string     `query:"type" maxLength:"100" doc:"Only events of this type, or of a pattern such as job.*"`
		Limit  int        `query:"limit" minimum:"0" maximum:"1000" doc:"Items per page; default: 50"`
		Cursor string     `query:"cursor" doc:"Next of the page before"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "hook-events", Method: http.MethodGet, Path: "/v1/hooks/{name}/events", Scope: access.ScopeRead,
		Summary: "List the events of a hook that are kept, newest first",
	}, func(ctx context.Context, c *api.Call, in *listing) (core.Page[hook.Recorded], error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return core.Page[hook.Recorded]{}, err
		}
		if err := api.OneOf("state", in.State, hook.Pending, hook.Sent); err != nil {
			return core.Page[hook.Recorded]{}, err
		}
		return api.Page(s.service.HookEvents(ctx, hook.Filter{Paging: core.Paging{Limit: in.Limit, Cursor: in.Cursor}, Namespace: ns, Hook: in.Name, State: in.State, Type: in.Type}))
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "hook-replay", Method: http.MethodPost, Path: "/v1/hooks/{name}/replay", Scope: access.ScopeOperate,
		Summary: "Deliver events of a hook once more",
		Doc:     "Only events that the receiver took before. They keep their ids, and wait like others until the hook is active.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, r hook.Replay) (hook.Replayed, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return hook.Replayed{}, err
		}
		if err := s.MayTry(); err != nil {
			return hook.Replayed{}, err
		}
		return s.service.ReplayHook(ctx, ns, in.Name, r)
	})

	pause := func(verb, summary, doc string, paused bool) {
		api.Serve(s.API, api.Endpoint{
			Id: "hook-" + verb, Method: http.MethodPost, Path: "/v1/hooks/{name}/" + verb, Scope: access.ScopeOperate,
			Summary: summary, Doc: doc,
		}, func(ctx context.Context, c *api.Call, in *api.ByName) (hook.Hook, error) {
			ns, err := in.Resolve(c)
			if err != nil {
				return hook.Hook{}, err
			}
			d, err := s.service.PauseHook(ctx, ns, in.Name, paused)
			return d.Redacted(), err
		})
	}
	pause("pause", "Pause the deliveries of a hook", "Its events are recorded and wait, for 3 days at most.", true)
	pause("resume", "Resume the deliveries of a hook", "Also of one that is disabled.", false)
	s.hookTest()
	s.pullRoutes()
}

// HookSecrets returns hooks as channels with their secrets, for the server's own use.
type HookSecrets interface {
	HookSecrets(ctx context.Context, namespace, name string) (alert.Channel, error)
}

func (s *server) hookTest() {
	s.testSending("hook", "Send an event of type hook.test to a hook, and show the result", func(ctx context.Context, namespace, name string) (alert.Channel, error) {
		return s.opts.Secrets.HookSecrets(ctx, namespace, name)
	}, func(c alert.Channel, now time.Time) alert.Message {
		return hook.TestMessage(c.Namespace, hook.NameOf(c), rand.Text(), core.Micro(now))
	})
}
