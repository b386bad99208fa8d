package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/worker"
)

// broker is a message broker in memory.
type broker struct {
	mu       sync.Mutex
	messages []*message
	changed  chan struct{}
	fail     error
	acked    int
	asked    int // most messages of one request
	putOff   []time.Duration
}

type message struct {
	job.Delivery
	visible time.Time
}

func newTestBroker() *broker { return &broker{changed: make(chan struct{})} }

func (d *broker) delivery(ts ...job.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range ts {
		d.messages = append(d.messages, &message{Delivery: job.Delivery{Ticket: t}})
	}
	d.wake()
}

func (d *broker) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *broker) breakDown(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
	d.wake()
}

func (d *broker) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.messages)
}

func (d *broker) Receive(ctx context.Context, n int, wait time.Duration) ([]job.Delivery, error) {
	until := time.Now().Add(wait)
	for {
		deliveries, changed, next, err := d.take(n)
		if err != nil || len(deliveries) > 0 || !time.Now().Before(until) {
			return deliveries, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-time.After(min(time.Until(until), next)):
		}
	}
}

func (d *broker) take(n int) (deliveries []job.Delivery, changed <-chan struct{}, next time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next = time.Hour
	d.asked = max(d.asked, n)
	if d.fail != nil {
		return nil, nil, 0, d.fail
	}
	for _, m := range d.messages {
		if hidden := time.Until(m.visible); hidden > 0 {
			next = min(next, hidden)
		}
		if len(deliveries) < n && !time.Now().Before(m.visible) {
			m.Count++
			m.Receipt = fmt.Sprint(m.JobID, ".", m.Count)
			m.visible = time.Now().Add(30 * time.Second)
			deliveries = append(deliveries, m.Delivery)
		}
	}
	return deliveries, d.changed, next, nil
}

func (d *broker) Ack(_ context.Context, rs []job.Delivery) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.acked += len(rs)
	for _, r := range rs {
		for i, m := range d.messages {
			if m.Delivery == r {
				d.messages = append(d.messages[:i], d.messages[i+1:]...)
				break
			}
		}
	}
	return nil
}

func (d *broker) Later(_ context.Context, rs []job.Delivery, after time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rs {
		d.putOff = append(d.putOff, after)
		for _, m := range d.messages {
			if m.Delivery == r {
				m.visible = time.Now().Add(after)
			}
		}
	}
	d.wake()
	return d.fail
}

// withBroker gives the default queue a broker.
func (f *fixture) withBroker() *broker {
	d := newTestBroker()
	f.options.Brokers = map[string]worker.Broker{"default": d}
	return d
}

func TestAQueueWithABrokerIsClaimedByTicketsOnly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		f.handle("work", func(context.Context) error { return nil })
		rung, silent := f.enqueue("work"), f.enqueue("work")
		stop := f.serve()
		pass(time.Minute)
		f.wantState(rung, job.Ready)
		if n := f.leaser.Calls("claim"); n != 0 {
			t.Errorf("%d claims without a ticket", n)
		}
		d.delivery(f.leaser.MakeTicket(rung))
		settle()
		f.wantState(rung, job.Succeeded)
		f.wantState(silent, job.Ready)
		if d.left() != 0 || d.acked != 1 {
			t.Errorf("%d messages left, %d acknowledged", d.left(), d.acked)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestADeliveryIsAcknowledgedWhileItsJobRuns(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		f.handle("long", func(ctx context.Context) error { return sleepIn(ctx, 50*time.Minute) })
		id := f.enqueue("long")
		d.delivery(f.leaser.MakeTicket(id))
		stop := f.serve()
		pass(time.Second)
		f.wantState(id, job.Running)
		if d.left() != 0 {
			t.Error("the broker still has it")
		}
		pass(50 * time.Minute)
		f.wantOutcomes(id, job.OutcomeOK)
		_ = stop()
	})
}

func TestADuplicateTicketStartsOneAttempt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		var ran atomic.Int32
		f.handle("work", func(ctx context.Context) error { ran.Add(1); return sleepIn(ctx, time.Second) })
		id := f.enqueue("work")
		first, second := f.leaser.MakeTicket(id), f.leaser.MakeTicket(id)
		d.delivery(first, first, second)
		stop := f.serve()
		pass(10 * time.Second)
		d.delivery(first, second) // replayed
		pass(time.Second)
		f.wantOutcomes(id, job.OutcomeOK)
		if ran.Load() != 1 || d.left() != 0 {
			t.Errorf("ran %d times, %d messages left", ran.Load(), d.left())
		}
		_ = stop()
	})
}

func TestNoMoreIsReceivedThanThereAreSlots(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		f.options.Queues["default"], f.options.Prefetch = 2, -1
		release := make(chan struct{})
		f.handle("work", func(context.Context) error { <-release; return nil })
		for range 10 {
			d.delivery(f.leaser.MakeTicket(f.enqueue("work")))
		}
		stop := f.serve()
		pass(time.Hour)
		if d.left() != 8 || d.asked != 2 {
			t.Errorf("%d messages left, asked for %d", d.left(), d.asked)
		}
		close(release)
		pass(time.Minute)
		if d.left() != 0 {
			t.Errorf("%d messages left", d.left())
		}
		_ = stop()
	})
}

func TestADeliveryThatComesTooEarlyIsPutOffLongerEachTimeAndThenDropped(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		f.handle("work", func(context.Context) error { return nil })
		id := f.leaser.Enqueue(job.NewJob{Task: "work", Delay: core.Duration(time.Hour)}).ID
		d.delivery(f.leaser.MakeTicket(id))
		stop := f.serve()
		pass(10 * time.Minute)
		if got := fmt.Sprint(d.putOff); got != "[1s 2s 4s 8s 16s 32s]" || d.left() != 0 {
			t.Errorf("put off %s, %d messages left", got, d.left())
		}
		pass(time.Hour)
		f.wantState(id, job.Ready)
		d.delivery(f.leaser.MakeTicket(id)) // as the server does
		settle()
		f.wantState(id, job.Succeeded)
		_ = stop()
	})
}

func TestDeliveriesWaitForTheServer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		var away atomic.Bool
		f.leaser.Before = func(_ context.Context, call string) error {
			if call == "claim" && away.Load() {
				return errAway
			}
			return nil
		}
		f.handle("work", func(context.Context) error { return nil })
		stop := f.serve()
		pass(time.Second)
		away.Store(true)
		id := f.enqueue("work")
		d.delivery(f.leaser.MakeTicket(id))
		pass(20 * time.Second)
		if d.left() != 1 {
			t.Error("the delivery was acknowledged without a claim")
		}
		away.Store(false)
		pass(40 * time.Second)
		f.wantState(id, job.Succeeded)
		_ = stop()
	})
}

func TestABrokerThatIsAwayIsLoggedOnceAndUsedAgain(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		stop := f.serve()
		pass(time.Second)
		d.breakDown(errors.New("no broker"))
		d.delivery(f.leaser.MakeTicket(id))
		pass(10 * time.Minute)
		f.wantState(id, job.Ready)
		if n := f.logged.count("broker of queue default cannot be read"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		d.breakDown(nil)
		pass(10 * time.Second)
		f.wantState(id, job.Succeeded)
		f.wantLogged("call works again")
		_ = stop()
	})
}

func TestAtShutdownAnUnclaimedDeliveryIsGivenToOthers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.withBroker()
		entered := make(chan struct{})
		f.leaser.Before = func(ctx context.Context, call string) error {
			if call == "claim" {
				close(entered)
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		d.delivery(f.leaser.MakeTicket(id))
		stop := f.serve()
		<-entered
		if err := stop(); err != nil {
			t.Error(err)
		}
		if d.left() != 1 || len(d.putOff) != 1 || d.putOff[0] > time.Second {
			t.Errorf("%d messages left, put off %v", d.left(), d.putOff)
		}
		f.wantState(id, job.Ready)
	})
}

// Messages are lost, doubled, replayed and reordered, calls fail before and after
// their effect, and the server deliveries again for jobs that stay ready.
func TestJobsBehindAFaultyBrokerRunOnce(t *testing.T) {
	for seed := range uint64(5) {
		inBubbleNamed(t, "seed", seed, func(f *fixture) {
			dice := newDice(seed, 3)
			roll := dice.roll
			var calm atomic.Bool
			fault := func(ctx context.Context, _ string) error {
				if !calm.Load() && roll(10) == 0 {
					return errAway
				}
				return nil
			}
			f.leaser.Before, f.leaser.After = fault, fault
			d := f.withBroker()
			f.handleTirelessly("work", func(ctx context.Context) error {
				return sleepIn(ctx, time.Duration(roll(5000))*time.Millisecond)
			})
			stops := []func() error{f.serve(), f.serve(), f.serve()}
			var ids []int64
			for range 200 {
				ids = append(ids, f.enqueue("work"))
			}
			for range 120 {
				for _, id := range ids {
					if j := f.job(id); j.State != job.Ready && j.State != job.Scheduled {
						continue
					}
					switch ticket := f.leaser.MakeTicket(id); roll(5) {
					case 0: // lost
					case 1:
						d.delivery(ticket, ticket)
					default:
						d.delivery(ticket)
					}
				}
				d.mu.Lock()
				dice.shuffle(len(d.messages), func(i, j int) { d.messages[i], d.messages[j] = d.messages[j], d.messages[i] })
				d.mu.Unlock()
				pass(10 * time.Second)
			}
			calm.Store(true)
			pass(5 * time.Minute)
			for _, id := range ids {
				f.wantState(id, job.Succeeded)
			}
			if d.left() != 0 {
				t.Errorf("%d messages left", d.left())
			}
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
