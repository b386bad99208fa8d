package wire

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/view"
)

// SseType is the content type of a stream of server-sent events.
const SseType = "text/event-stream"

// EventPage is the answer to a poll for events.
type EventPage struct {
	Events []view.Event `json:"events"`
	Next   string       `json:"next" doc:"Cursor for what comes after"`
}

// Pause waits for d. It returns the error of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
