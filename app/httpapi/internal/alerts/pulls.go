package alerts

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
)

func (s *server) pullRoutes() {
	type streaming struct {
		api.ByName
		After string `query:"after" maxLength:"100" doc:"Cursor of the last event that was worked on; 0 for all that are kept; default: what was acknowledged"`
		Last  string `header:"Last-Event-ID" doc:"The same, as clients of server-sent events send it; wins over after"`
	}
	api.Stream(s.API, api.Endpoint{
		Id: "hook-stream", Method: http.MethodGet, Path: "/v1/hooks/{name}/stream", Scope: access.ScopeRead, Timeout: -1,
		Summary: "Stream the events of a pulled hook, as server-sent events",
		Doc: "Each has its type as its name, the JSON of an Event as its data, and its cursor as its id. " +
			"An event named missed has the number of those between that are no longer kept.",
	}, map[string]reflect.Type{wire.SseType: reflect.TypeFor[hook.Event]()},
		func(ctx context.Context, c *api.Call, in *streaming) (func(http.ResponseWriter), error) {
			ns, err := in.Resolve(c)
			if err != nil {
				return nil, err
			}
			return s.stream(ctx, ns, in.Name, cmp.Or(in.Last, in.After))
		})

	type pulling struct {
		api.ByName
		After string `query:"after" maxLength:"100" doc:"Cursor of the last event that was worked on; 0 for all that are kept; default: what was acknowledged"`
		Wait  string `query:"wait" doc:"How long to wait when there is nothing, such as 10s; more than 30s counts as 30s; default: not at all"`
	}
	api.Serve(s.API, api.Endpoint{
		Id: "hook-pull", Method: http.MethodGet, Path: "/v1/hooks/{name}/pull", Scope: access.ScopeRead,
		Timeout: job.MaxClaimWait.D() + 10*time.Second, Waits: true,
		Summary: "Answer the next events of a pulled hook, up to 100",
		Doc:     "A call that waits counts as a stream of its token.",
	}, func(ctx context.Context, c *api.Call, in *pulling) (hook.Pulled, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return hook.Pulled{}, err
		}
		wait, err := api.Wait(in.Wait)
		if err != nil {
			return hook.Pulled{}, err
		}
		return s.pull(ctx, ns, in.Name, in.After, wait)
	})

	api.ServeBody(s.API, api.Endpoint{
		Id: "hook-ack", Method: http.MethodPost, Path: "/v1/hooks/{name}/ack", Scope: access.ScopeOperate,
		Summary: "Acknowledge the events of a pulled hook up to a cursor",
		Doc:     "Who asks without a cursor gets those that come after. A cursor before what is acknowledged changes nothing.",
	}, func(ctx context.Context, c *api.Call, in *api.ByName, a hook.Acknowledged) (hook.Standing, error) {
		ns, err := in.Resolve(c)
		if err != nil {
			return hook.Standing{}, err
		}
		return s.service.AckEvents(ctx, ns, in.Name, a.Cursor)
	})
}

func (s *server) pull(ctx context.Context, ns, name, after string, wait time.Duration) (hook.Pulled, error) {
	if wait > 0 { // a waiting call uses as much as a stream
		token := api.CallOf(ctx).Token
		if err := s.Streams.Take(token.ID, s.Options.MaxStreams); err != nil {
			return hook.Pulled{}, err
		}
		defer s.Streams.Free(token.ID)
	} else {
		give, err := s.HoldPage(ctx)
		if err != nil {
			return hook.Pulled{}, err
		}
		defer give()
	}
	waiting, cancel := s.Until(ctx)
	defer cancel()
	out, err := s.service.PullEvents(waiting, ns, name, after, wait)
	if err != nil && s.Stopping.Err() != nil && ctx.Err() == nil && waiting.Err() != nil {
		out, err = hook.Pulled{Next: after}, nil
	}
	out.Events = api.List(out.Events)
	return out, err
}

// stream returns the function that streams events from a cursor on.
func (s *server) stream(ctx context.Context, ns, name, after string) (func(http.ResponseWriter), error) {
	var first hook.Pulled
	return s.Stream(ctx, func() (err error) {
		first, err = s.service.PullEvents(ctx, ns, name, after, 0)
		return err
	}, func(ctx context.Context, out *api.Sse) error { return s.sendPulled(ctx, out, ns, name, first) })
}

func (s *server) sendPulled(ctx context.Context, out *api.Sse, ns, name string, p hook.Pulled) error {
	for {
		if p.Missed > 0 {
			if err := out.Send("missed", "", map[string]int64{"missed": p.Missed}); err != nil {
				return err
			}
		}
		for _, e := range p.Events {
			if err := out.Send(e.Type, e.Cursor, e.Event); err != nil {
				return err
			}
		}
		if len(p.Events) == 0 { // sends a cursor to resume from, and a keep-alive
			if err := out.Mark(p.Next); err != nil {
				return err
			}
		}
		asked := time.Now()
		next, err := s.service.PullEvents(ctx, ns, name, p.Next, s.Beat)
		if err != nil {
			return err
		}
		if len(next.Events) == 0 { // a service that returns no events at once must not cause a busy loop
			if err := wire.Pause(ctx, min(s.Beat, s.Look)-time.Since(asked)); err != nil {
				return err
			}
		}
		p = next
	}
}
