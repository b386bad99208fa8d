package views

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

func (s *server) watchRoutes() {
	type watching struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Cursor    string `query:"cursor" doc:"Id of the last event seen; default: from now on"`
		Last      string `header:"Last-Event-ID" doc:"The same, as browsers send it; wins over cursor"`
	}
	api.Stream(s.API, api.Endpoint{
		Id: "event-watch", Method: http.MethodGet, Path: "/v1/events", Scope: access.ScopeRead, Timeout: -1,
		Summary: "Stream what changes, as server-sent events",
		Doc: "Each event is of type job, change or check, with the JSON of an Event as its data. " +
			"The last of a group carries an id to come back with. Events are hints: after a gap, read again what you show.",
	}, map[string]reflect.Type{wire.SseType: reflect.TypeFor[view.Event]()},
		func(ctx context.Context, c *api.Call, in *watching) (func(http.ResponseWriter), error) {
			ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
			if err != nil {
				return nil, err
			}
			return s.watch(ctx, ns, cmp.Or(in.Last, in.Cursor))
		})

	type polling struct {
		Namespace string `query:"namespace" doc:"Default: the token's namespace, or default; * for all"`
		Cursor    string `query:"cursor" doc:"Next of the answer before; default: from now on"`
		Wait      string `query:"wait" doc:"How long to wait when there is nothing, such as 10s; more than 30s counts as 30s; default: not at all"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "event-poll", Method: http.MethodGet, Path: "/v1/events/poll", Scope: access.ScopeRead,
		Timeout: job.MaxClaimWait.D() + 10*time.Second, Waits: true,
		Summary: "Answer what changed since a cursor",
	}, func(ctx context.Context, c *api.Call, in *polling) (wire.EventPage, error) {
		ns, err := api.InNamespace(c.Token, "namespace", in.Namespace)
		if err != nil {
			return wire.EventPage{}, err
		}
		wait, err := api.Wait(in.Wait)
		if err != nil {
			return wire.EventPage{}, err
		}
		return s.poll(ctx, ns, in.Cursor, wait)
	})
}

func (s *server) poll(ctx context.Context, ns, cursor string, wait time.Duration) (wire.EventPage, error) {
	waiting, cancel := s.Until(ctx)
	defer cancel()
	evs, next, err := s.service.Events(waiting, ns, cursor, wait)
	if err != nil && s.Stopping.Err() != nil && ctx.Err() == nil && waiting.Err() != nil {
		return wire.EventPage{Events: []view.Event{}, Next: cursor}, nil
	}
	return wire.EventPage{Events: api.List(evs), Next: next}, err
}

// watch returns the function that streams events from a cursor on.
func (s *server) watch(ctx context.Context, ns, cursor string) (func(http.ResponseWriter), error) {
	var first []view.Event
	var next string
	return s.Stream(ctx, func() (err error) {
		first, next, err = s.service.Events(ctx, ns, cursor, 0)
		return err
	}, func(ctx context.Context, out *api.Sse) error { return s.sendEvents(ctx, out, ns, first, next) })
}

func (s *server) sendEvents(ctx context.Context, out *api.Sse, ns string, evs []view.Event, cursor string) error {
	if len(evs) == 0 {
		if err := out.Mark(cursor); err != nil {
			return err
		}
	}
	for {
		if err := out.Group(evs, cursor); err != nil {
			return err
		}
		asked := time.Now()
		var next string
		var err error
		if evs, next, err = s.service.Events(ctx, ns, cursor, s.Beat); err != nil {
			return err
		}
		if len(evs) == 0 {
			if err := out.Beat(); err != nil {
				return err
			}
			// A service that returns no events at once must not cause a busy loop.
			if err := wire.Pause(ctx, min(s.Beat, s.Look)-time.Since(asked)); err != nil {
				return err
			}
		}
		cursor = next
	}
}
