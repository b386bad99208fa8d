package engine

import (
	"context"

	"github.com/belfry-run/belfry/view"
)

// Hooks is a store that keeps events until they are delivered to hooks.
type Hooks interface {
	// TakeEvents claims the oldest events of at most that many hooks, with one message for each hook. No other node can
	// take events of these hooks until the claim expires.
	TakeEvents(ctx context.Context, hooks int) (view.TakenAlerts, error)
	// SettleEvents records the result of a delivery attempt.
	SettleEvents(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error
	// WokenHooks returns a channel that is closed when an event may be due: see [Store.Woken].
	WokenHooks() <-chan struct{}
}

// hookBox is the outbox of events. Each hook acts as a channel with its own slot.
type hookBox struct{ Hooks }

func (b hookBox) TakeAlerts(ctx context.Context, _ string, hooks int) (view.TakenAlerts, error) {
	return b.TakeEvents(ctx, hooks)
}

func (b hookBox) SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return b.SettleEvents(ctx, t, r)
}
