package engine

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// Outbox is a store that keeps what people are to be told.
type Outbox interface {
	// TakeAlerts takes messages that are due, of so many channels at most, for a
	// while in which no other node takes them.
	TakeAlerts(ctx context.Context, publicURL string, channels int) (belfry.TakenAlerts, error)
	// SettleAlerts records what came of a try.
	SettleAlerts(ctx context.Context, t belfry.TakenAlert, r belfry.Told) error
}

// Sender tells people.
type Sender interface {
	Send(ctx context.Context, c belfry.Channel, m belfry.Message) belfry.Told
}

// sendAtOnce bounds the messages that are on their way at the same time. Each
// is to another channel.
const sendAtOnce = 8

// deliver tells what is due, and does not wait for who is slow: a channel that
// does not answer holds up nobody but itself. A message that was sent and not
// recorded, because the node died in between, is sent again under the same key.
// It takes no more than can be on their way: what waited here for its turn would
// be another node's before it has come.
//
// When nothing is to be told any more, wait for those under way.
func (e *Engine) deliver(box Outbox) (tell pass, wait func()) {
	slots := make(chan struct{}, sendAtOnce)
	var all sync.WaitGroup
	return func(ctx context.Context) (time.Duration, error) {
		select {
		case slots <- struct{}{}:
			<-slots
		case <-ctx.Done():
			return longest, nil
		}
		begun := time.Now()
		taken, err := box.TakeAlerts(ctx, e.opt.PublicURL, sendAtOnce-len(slots))
		if err != nil {
			return longest, err
		}
		for _, t := range taken.Messages {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				e.deliverOne(ctx, box, t)
			})
		}
		return until(taken.NextAt, taken.Now, begun), nil
	}, all.Wait
}

func (e *Engine) deliverOne(ctx context.Context, box Outbox, t belfry.TakenAlert) {
	sending, cancel := context.WithTimeout(ctx, belfry.AlertTimeout)
	defer cancel()
	begun := time.Now()
	told := e.opt.Sender.Send(sending, t.Channel, t.Message)
	told.Took = belfry.Duration(time.Since(begun))
	if told.Error != "" {
		e.opt.Logger.Warn("alert was not taken", "channel", t.Channel.Name, "namespace", t.Channel.Namespace, "tries", t.Tries+1, "final", told.Permanent, "error", told.Error)
	}
	// What is known has to be written, even while the node stops.
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer done()
	if ctx.Err() != nil && told.Error != "" {
		return // it was cut off by the stop, and another node goes on
	}
	if err := box.SettleAlerts(settling, t, told); err != nil {
		e.opt.Logger.Warn("alert was sent and could not be recorded, it may be sent again", "channel", t.Channel.Name, "error", err)
	}
}
