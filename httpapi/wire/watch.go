package wire

import (
	"context"
	"time"

	"github.com/belfry-run/belfry/view"
)

const SseType = "text/event-stream"

// EventPage is the answer to a poll for events.
type EventPage struct {
	Events []view.Event `json:"events"`
	Next   string       `json:"next" doc:"Cursor for what comes after"`
}

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
