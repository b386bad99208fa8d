package client

import (
	"context"
	"net/http"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/httpapi/wire"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/view"
)

// HookCalls are the calls about hooks.
type HookCalls struct{ server *server }

// SaveHook implements [httpapi.Hooks].
func (c HookCalls) SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error) {
	return saved(ctx, c.server, hookNoun, d.Name, d)
}

// DeleteHook implements [httpapi.Hooks].
func (c HookCalls) DeleteHook(ctx context.Context, namespace, name string) error {
	return c.server.drop(ctx, hookNoun, namespace, name)
}

// Hook implements [httpapi.Hooks].
func (c HookCalls) Hook(ctx context.Context, namespace, name string) (hook.Hook, error) {
	return shown[hook.Hook](ctx, c.server, hookNoun, namespace, name)
}

// ListHooks implements [httpapi.Hooks].
func (c HookCalls) ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error) {
	return listed[hook.Hook](ctx, c.server, hookNoun, f)
}

// PauseHook implements [httpapi.Hooks].
func (c HookCalls) PauseHook(ctx context.Context, namespace, name string, paused bool) (out hook.Hook, err error) {
	verb := "resume"
	if paused {
		verb = "pause"
	}
	if err := checked("name", name); err != nil {
		return out, err
	}
	err = c.server.do(ctx, ask{method: http.MethodPost, path: named(hookNoun, name, verb), query: words("namespace", namespace), again: true}, &out)
	return out, err
}

// HookStatus implements [httpapi.Hooks].
func (c HookCalls) HookStatus(ctx context.Context, namespace, name string) (out hook.Status, err error) {
	if err := checked("name", name); err != nil {
		return out, err
	}
	return get[hook.Status](ctx, c.server, named(hookNoun, name, "status"), words("namespace", namespace))
}

// HookStatuses implements [httpapi.Hooks].
func (c HookCalls) HookStatuses(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Standing], error) {
	return get[core.Page[hook.Standing]](ctx, c.server, "/v1/hook-statuses", paged(f.Paging, words("namespace", f.Namespace)))
}

// HookEvents implements [httpapi.Hooks].
func (c HookCalls) HookEvents(ctx context.Context, f hook.Filter) (out core.Page[hook.Recorded], err error) {
	if err := checked("name", f.Hook); err != nil {
		return out, err
	}
	return get[core.Page[hook.Recorded]](ctx, c.server, named(hookNoun, f.Hook, "events"), paged(f.Paging, words("namespace", f.Namespace, "state", string(f.State), "type", f.Type)))
}

// ReplayHook implements [httpapi.Hooks].
func (c HookCalls) ReplayHook(ctx context.Context, namespace, name string, r hook.Replay) (out hook.Replayed, err error) {
	if err := checked("name", name); err != nil {
		return out, err
	}
	return put[hook.Replayed](ctx, c.server, http.MethodPost, named(hookNoun, name, "replay"), words("namespace", namespace), r)
}

// PullEvents implements [httpapi.Hooks]. [HookCalls.ListenHook] pulls continuously.
func (c HookCalls) PullEvents(ctx context.Context, namespace, name, after string, wait time.Duration) (out hook.Pulled, err error) {
	if err := checked("name", name); err != nil {
		return out, err
	}
	wait = min(max(wait, 0), job.MaxClaimWait.D())
	err = c.server.do(ctx, ask{
		method: http.MethodGet, path: named(hookNoun, name, "pull"), timeout: wait + claimMargin, again: true,
		query: words("namespace", namespace, "after", after, "wait", wait.String()),
	}, &out)
	return out, err
}

// AckEvents implements [httpapi.Hooks].
func (c HookCalls) AckEvents(ctx context.Context, namespace, name, cursor string) (out hook.Standing, err error) {
	if err := checked("name", name); err != nil {
		return out, err
	}
	err = c.server.do(ctx, ask{
		method: http.MethodPost, path: named(hookNoun, name, "ack"), query: words("namespace", namespace), body: hook.Acknowledged{Cursor: cursor}, again: true,
	}, &out)
	return out, err
}

// ListenHook calls each for the events of a pulled hook in order, first those after a cursor and then new ones, until ctx
// ends. Without a cursor it begins after the last acknowledged event, and with "0" at the oldest stored event. After the
// first connection it reconnects, and passes no event twice. It ends if each returns an error.
//
// ListenHook acknowledges nothing: store the cursor of the last processed event, or pass it to AckEvents. missed is called
// with the number of events that are no longer stored; it may be nil.
func (c HookCalls) ListenHook(ctx context.Context, namespace, name, after string, each func(hook.Numbered) error, missed func(int64)) error {
	if err := checked("name", name); err != nil {
		return err
	}
	return c.server.stream(ctx, named(hookNoun, name, "stream"), words("namespace", namespace, "after", after), func(e wire.SSEEvent) error {
		if e.Name == "missed" {
			return pass(e, "", func(m hook.Pulled) error {
				if missed != nil {
					missed(m.Missed)
				}
				return nil
			})
		}
		return pass(e, "", func(ev hook.Numbered) error {
			ev.Cursor = e.ID
			return each(ev)
		})
	})
}

// TestHook sends an event of type hook.test from a node. It is not part of [httpapi.Service].
func (c HookCalls) TestHook(ctx context.Context, namespace, name string) (out wire.ChannelTest, err error) {
	if err := checked("name", name); err != nil {
		return out, err
	}
	err = c.server.do(ctx, ask{
		method: http.MethodPost, path: named(hookNoun, name, "test"), query: words("namespace", namespace), timeout: view.AlertTimeout + 30*time.Second,
	}, &out)
	return out, err
}
