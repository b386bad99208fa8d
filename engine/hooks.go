package engine

import (
	"context"

	"github.com/belfry-run/belfry/view"
)

// Hooks is a store that keeps events until they are delivered to hooks.
type Hooks interface {
	// TakeEvents takes the oldest events of so many hooks at most, a message for each, for a while in which no other node
	// takes those of these hooks.
	TakeEvents(ctx context.Context, hooks int) (view.TakenAlerts, error)
	// SettleEvents records what came of a delivery.
	SettleEvents(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error
	// WokenHooks is Woken for events.
	WokenHooks() <-chan struct{}
}

// hookBox is the outbox of events. A hook is a channel of it, with a slot of its own.
type hookBox struct{ Hooks }

func (b hookBox) TakeAlerts(ctx context.Context, _ string, hooks int) (view.TakenAlerts, error) {
	return b.TakeEvents(ctx, hooks)
}

func (b hookBox) SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error {
	return b.SettleEvents(ctx, t, r)
}
