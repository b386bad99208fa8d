package engine

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/view"
)

// Outbox is a store that keeps notifications until they are delivered.
type Outbox interface {
	// TakeAlerts takes messages that are due, of so many channels at most, for a
	// while in which no other node takes them. The messages of a channel stand
	// together.
	TakeAlerts(ctx context.Context, publicURL string, channels int) (view.TakenAlerts, error)
	// SettleAlerts records what came of a try.
	SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error
}

// Sender delivers messages to channels.
type Sender interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) view.DeliveryResult
}

const (
	// sendAtOnce bounds the channels that messages are on their way to. It is
	// large, because a message that waits for a receiver costs little, and the
	// store bounds the part of each namespace: see [alert.ChooseChannels].
	sendAtOnce = 256
	// sendGrace is how long a try may take beyond its deadline until its slot is
	// given back without it.
	sendGrace = 2 * time.Second
	// maxStuck bounds the tries of one channel that did not end at their
	// deadline. With so many the channel is not tried.
	maxStuck = 3
)

// stuck counts the tries that did not end at their deadline, by channel.
type stuck struct {
	mu  sync.Mutex
	all int
	of  map[[2]string]int
}

func (s *stuck) add(c alert.Channel, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[[2]string]int{}
	}
	key := [2]string{c.Namespace, c.Name}
	s.all += n
	if s.of[key] += n; s.of[key] == 0 {
		delete(s.of, key)
	}
}

func (s *stuck) has(c alert.Channel) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[[2]string{c.Namespace, c.Name}]
}

// StuckTries is how many tries to deliver a message did not end at their
// deadline and still run. Any other number than 0 is a fault of Belfry.
func (e *Engine) StuckTries() int {
	e.stuck.mu.Lock()
	defer e.stuck.mu.Unlock()
	return e.stuck.all
}

// deliver sends what is due. Each channel has one slot, in which its messages
// go one after the other, so that a slow receiver delays its own channel alone.
// A message that was sent and not recorded, because the node died in between, is
// sent again under the same key. It takes no more than can be on their way: what
// waited here for its turn would be another node's before it has come.
//
// After the last pass, wait for the messages under way.
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
		for _, messages := range byChannel(taken.Messages) {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				for _, t := range messages {
					e.deliverOne(ctx, box, t)
				}
			})
		}
		return until(taken.NextAt, taken.Now, begun), nil
	}, all.Wait
}

// byChannel are the messages of each channel, which stand together.
func byChannel(all []view.TakenAlert) (out [][]view.TakenAlert) {
	for i, t := range all {
		if i == 0 || t.Channel.Namespace != all[i-1].Channel.Namespace || t.Channel.Name != all[i-1].Channel.Name {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

func (e *Engine) deliverOne(ctx context.Context, box Outbox, t view.TakenAlert) {
	begun := time.Now()
	delivered := e.send(ctx, t)
	delivered.Took = core.Duration(time.Since(begun))
	if delivered.Error != "" {
		e.opt.Logger.Warn("message was not taken", "channel", t.Channel.Name, "namespace", t.Channel.Namespace, "tries", t.Tries+1, "final", delivered.Permanent, "error", delivered.Error)
	}
	// A known result has to be written, even while the node stops.
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer done()
	if ctx.Err() != nil && delivered.Error != "" {
		return // it was cut off by the stop, and another node goes on
	}
	if err := box.SettleAlerts(settling, t, delivered); err != nil {
		e.opt.Logger.Warn("message was sent and could not be recorded, it may be sent again", "channel", t.Channel.Name, "error", err)
	}
}

// send tries once. It returns soon after its deadline whatever the sender does:
// a try that goes on is counted and left behind.
func (e *Engine) send(ctx context.Context, t view.TakenAlert) view.DeliveryResult {
	if n := e.stuck.has(t.Channel); n >= maxStuck {
		return view.DeliveryResult{Error: "it is not tried: earlier tries did not end at their deadline, which is a fault of this node"}
	}
	sending, cancel := context.WithTimeout(ctx, view.AlertTimeout)
	came := make(chan view.DeliveryResult, 1)
	go func() {
		defer cancel()
		came <- e.opt.Sender.Send(sending, t.Channel, t.Message)
	}()
	patience := time.NewTimer(view.AlertTimeout + sendGrace)
	defer patience.Stop()
	select {
	case delivered := <-came:
		return delivered
	case <-patience.C:
	}
	e.stuck.add(t.Channel, 1)
	e.opt.Logger.Warn("a try to deliver a message did not end at its deadline and was left behind",
		"channel", t.Channel.Name, "namespace", t.Channel.Namespace, "left_behind", e.StuckTries())
	go func() {
		<-came
		e.stuck.add(t.Channel, -1)
		e.opt.Logger.Warn("a try that was left behind has ended", "channel", t.Channel.Name, "namespace", t.Channel.Namespace)
	}()
	return view.DeliveryResult{Error: "the try did not end within " + core.Duration(view.AlertTimeout+sendGrace).String() + " and was left behind"}
}
