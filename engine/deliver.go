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
	// TakeAlerts claims due messages of at most that many channels. No other
	// node can take them until the claim expires. The messages of a channel are
	// adjacent.
	TakeAlerts(ctx context.Context, publicURL string, channels int) (view.TakenAlerts, error)
	// SettleAlerts records the result of a delivery attempt.
	SettleAlerts(ctx context.Context, t view.TakenAlert, r view.DeliveryResult) error
}

// Sender delivers messages to channels.
type Sender interface {
	Send(ctx context.Context, c alert.Channel, m alert.Message) view.DeliveryResult
}

const (
	// sendAtOnce is the most channels that are served at the same time. It is
	// large because waiting for a receiver costs little. The store limits the
	// share of each namespace: see [alert.ChooseChannels].
	sendAtOnce = 256
	// sendGrace is how long a delivery attempt may exceed its deadline before its
	// slot is freed.
	sendGrace = 2 * time.Second
	// maxStuck is the most stuck attempts of one channel, which ran past deadline
	// and grace. A channel with that many is not tried.
	maxStuck = 3
)

// stuck counts the running delivery attempts that did not end at their deadline, by channel.
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

// StuckTries returns how many delivery attempts did not end at their deadline
// and still run. Any number but 0 is a fault of Belfry.
func (e *Engine) StuckTries() int {
	e.stuck.mu.Lock()
	defer e.stuck.mu.Unlock()
	return e.stuck.all
}

// deliver returns a pass that sends due messages. Each channel has one slot and
// sends its messages one after the other, so a slow receiver delays only its own
// channel. If the node dies between sending and recording, the message is sent
// again under the same key. A pass takes no more channels than there are free
// slots, because the claim of a waiting message would expire before its turn.
//
// wait waits for the messages under way; call it after the last pass.
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

// byChannel groups messages by channel. Messages of a channel must be adjacent.
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
	if delivered.Cut = delivered.Error != "" && ctx.Err() != nil; delivered.Error != "" && !delivered.Cut {
		final := delivered.Permanent && t.Hook == 0 // events of a hook are tried again whatever the fault
		e.opt.Logger.Warn("message was not accepted", "channel", t.Channel.Name, "namespace", t.Channel.Namespace, "tries", t.Tries+1, "final", final, "error", delivered.Error)
	}
	// A known result must be written even while the node stops.
	settling, done := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer done()
	if err := box.SettleAlerts(settling, t, delivered); err != nil {
		e.opt.Logger.Warn("message was sent and could not be recorded, it may be sent again", "channel", t.Channel.Name, "error", err)
	}
}

// send makes one delivery attempt. It returns at most [sendGrace] after the
// deadline: an attempt that still runs is counted as stuck and left behind.
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
	e.opt.Logger.Warn("delivery attempt did not end at its deadline and was left behind",
		"channel", t.Channel.Name, "namespace", t.Channel.Namespace, "left_behind", e.StuckTries())
	go func() {
		<-came
		e.stuck.add(t.Channel, -1)
		e.opt.Logger.Warn("delivery attempt that was left behind has ended", "channel", t.Channel.Name, "namespace", t.Channel.Namespace)
	}()
	return view.DeliveryResult{Error: "the try did not end within " + core.Duration(view.AlertTimeout+sendGrace).String() + " and was left behind"}
}
