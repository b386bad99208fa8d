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

// doorbell is a message broker in memory.
type doorbell struct {
	mu       sync.Mutex
	messages []*message
	changed  chan struct{}
	fail     error
	acked    int
	asked    int // most messages of one request
	putOff   []time.Duration
}

type message struct {
	job.Ring
	visible time.Time
}

func newDoorbell() *doorbell { return &doorbell{changed: make(chan struct{})} }

func (d *doorbell) ring(ts ...job.Ticket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range ts {
		d.messages = append(d.messages, &message{Ring: job.Ring{Ticket: t}})
	}
	d.wake()
}

func (d *doorbell) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *doorbell) breakDown(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
	d.wake()
}

func (d *doorbell) left() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.messages)
}

func (d *doorbell) Receive(ctx context.Context, n int, wait time.Duration) ([]job.Ring, error) {
	until := time.Now().Add(wait)
	for {
		rings, changed, next, err := d.take(n)
		if err != nil || len(rings) > 0 || !time.Now().Before(until) {
			return rings, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-time.After(min(time.Until(until), next)):
		}
	}
}

func (d *doorbell) take(n int) (rings []job.Ring, changed <-chan struct{}, next time.Duration, err error) {
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
		if len(rings) < n && !time.Now().Before(m.visible) {
			m.Deliveries++
			m.Receipt = fmt.Sprint(m.JobID, ".", m.Deliveries)
			m.visible = time.Now().Add(30 * time.Second)
			rings = append(rings, m.Ring)
		}
	}
	return rings, d.changed, next, nil
}

func (d *doorbell) Ack(_ context.Context, rs []job.Ring) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.acked += len(rs)
	for _, r := range rs {
		for i, m := range d.messages {
			if m.Ring == r {
				d.messages = append(d.messages[:i], d.messages[i+1:]...)
				break
			}
		}
	}
	return nil
}

func (d *doorbell) Later(_ context.Context, rs []job.Ring, after time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rs {
		d.putOff = append(d.putOff, after)
		for _, m := range d.messages {
			if m.Ring == r {
				m.visible = time.Now().Add(after)
			}
		}
	}
	d.wake()
	return d.fail
}

// byDoorbell gives the default queue a doorbell.
func (f *fixture) byDoorbell() *doorbell {
	d := newDoorbell()
	f.options.Doorbells = map[string]worker.Doorbell{"default": d}
	return d
}

func TestAQueueWithADoorbellIsClaimedByTicketsOnly(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		f.handle("work", func(context.Context) error { return nil })
		rung, silent := f.enqueue("work"), f.enqueue("work")
		stop := f.serve()
		pass(time.Minute)
		f.wantState(rung, job.Ready)
		if n := f.broker.Calls("claim"); n != 0 {
			t.Errorf("%d claims without a ticket", n)
		}
		d.ring(f.broker.MakeTicket(rung))
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

func TestARingIsAcknowledgedWhileItsJobRuns(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		f.handle("long", func(ctx context.Context) error { return sleepIn(ctx, 50*time.Minute) })
		id := f.enqueue("long")
		d.ring(f.broker.MakeTicket(id))
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
		d := f.byDoorbell()
		var ran atomic.Int32
		f.handle("work", func(ctx context.Context) error { ran.Add(1); return sleepIn(ctx, time.Second) })
		id := f.enqueue("work")
		first, second := f.broker.MakeTicket(id), f.broker.MakeTicket(id)
		d.ring(first, first, second)
		stop := f.serve()
		pass(10 * time.Second)
		d.ring(first, second) // replayed
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
		d := f.byDoorbell()
		f.options.Queues["default"], f.options.Prefetch = 2, -1
		release := make(chan struct{})
		f.handle("work", func(context.Context) error { <-release; return nil })
		for range 10 {
			d.ring(f.broker.MakeTicket(f.enqueue("work")))
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

func TestARingThatComesTooEarlyIsPutOffLongerEachTimeAndThenDropped(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		f.handle("work", func(context.Context) error { return nil })
		id := f.broker.Enqueue(job.NewJob{Task: "work", Delay: core.Duration(time.Hour)}).ID
		d.ring(f.broker.MakeTicket(id))
		stop := f.serve()
		pass(10 * time.Minute)
		if got := fmt.Sprint(d.putOff); got != "[1s 2s 4s 8s 16s 32s]" || d.left() != 0 {
			t.Errorf("put off %s, %d messages left", got, d.left())
		}
		pass(time.Hour)
		f.wantState(id, job.Ready)
		d.ring(f.broker.MakeTicket(id)) // as the server does
		settle()
		f.wantState(id, job.Succeeded)
		_ = stop()
	})
}

func TestRingsWaitForTheServer(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		var away atomic.Bool
		f.broker.Before = func(_ context.Context, call string) error {
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
		d.ring(f.broker.MakeTicket(id))
		pass(20 * time.Second)
		if d.left() != 1 {
			t.Error("the ring was acknowledged without a claim")
		}
		away.Store(false)
		pass(40 * time.Second)
		f.wantState(id, job.Succeeded)
		_ = stop()
	})
}

func TestADoorbellThatIsAwayIsToldOnceAndHeardAgain(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		stop := f.serve()
		pass(time.Second)
		d.breakDown(errors.New("no broker"))
		d.ring(f.broker.MakeTicket(id))
		pass(10 * time.Minute)
		f.wantState(id, job.Ready)
		if n := f.logged.count("doorbell of queue default cannot be read"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		d.breakDown(nil)
		pass(10 * time.Second)
		f.wantState(id, job.Succeeded)
		f.wantLogged("broker call works again")
		_ = stop()
	})
}

func TestAtShutdownAnUnclaimedRingIsGivenToOthers(t *testing.T) {
	inBubble(t, func(f *fixture) {
		d := f.byDoorbell()
		entered := make(chan struct{})
		f.broker.Before = func(ctx context.Context, call string) error {
			if call == "claim" {
				close(entered)
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		f.handle("work", func(context.Context) error { return nil })
		id := f.enqueue("work")
		d.ring(f.broker.MakeTicket(id))
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
// their effect, and the server rings again for jobs that stay ready.
func TestJobsBehindAFaultyDoorbellRunOnce(t *testing.T) {
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
			f.broker.Before, f.broker.After = fault, fault
			d := f.byDoorbell()
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
					switch ticket := f.broker.MakeTicket(id); roll(5) {
					case 0: // lost
					case 1:
						d.ring(ticket, ticket)
					default:
						d.ring(ticket)
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
