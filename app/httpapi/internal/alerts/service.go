package alerts

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/hook"
	"github.com/belfry-run/belfry/view"
)

// Channels stores channels. Answers have no secrets. Where [core.Redacted] is
// saved, the stored secret stays.
type Channels interface {
	SaveChannel(ctx context.Context, d alert.Channel) (alert.Channel, error)
	DeleteChannel(ctx context.Context, namespace, name string) error
	Channel(ctx context.Context, namespace, name string) (alert.Channel, error)
	Channels(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Channel], error)
}

// AlertRules stores alert rules.
type AlertRules interface {
	SaveAlertRule(ctx context.Context, d alert.Rule) (alert.Rule, error)
	DeleteAlertRule(ctx context.Context, namespace, name string) error
	AlertRule(ctx context.Context, namespace, name string) (alert.Rule, error)
	AlertRules(ctx context.Context, f view.DocumentFilter) (core.Page[alert.Rule], error)
}

// Alerts lists alerts and their deliveries.
type Alerts interface {
	Alerts(ctx context.Context, f alert.Filter) (core.Page[alert.Alert], error)
	// AlertTries lists the attempts to deliver the message with an alert, oldest
	// first.
	AlertTries(ctx context.Context, namespace string, alert int64) ([]alert.Try, error)
}

// Hooks stores hooks, which send events to programs, and their events. Answers have no secrets. Where [core.Redacted] is
// saved, the stored secret stays.
type Hooks interface {
	SaveHook(ctx context.Context, d hook.Hook) (hook.Hook, error)
	DeleteHook(ctx context.Context, namespace, name string) error
	Hook(ctx context.Context, namespace, name string) (hook.Hook, error)
	ListHooks(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Hook], error)
	// PauseHook pauses the deliveries of a hook, or resumes them, also for a disabled hook.
	PauseHook(ctx context.Context, namespace, name string, paused bool) (hook.Hook, error)
	// HookStatuses lists the state of deliveries of hooks by name, in the pages of ListHooks.
	HookStatuses(ctx context.Context, f view.DocumentFilter) (core.Page[hook.Standing], error)
	HookStatus(ctx context.Context, namespace, name string) (hook.Status, error)
	HookEvents(ctx context.Context, f hook.Filter) (core.Page[hook.Recorded], error)
	// PullEvents returns the next events of a pulled hook after a cursor, or after the acknowledged ones. It waits for one.
	PullEvents(ctx context.Context, namespace, name, after string, wait time.Duration) (hook.Pulled, error)
	// AckEvents acknowledges the events of a pulled hook up to a cursor.
	AckEvents(ctx context.Context, namespace, name, cursor string) (hook.Standing, error)
	// ReplayHook delivers events again that were delivered before.
	ReplayHook(ctx context.Context, namespace, name string, r hook.Replay) (hook.Replayed, error)
}
