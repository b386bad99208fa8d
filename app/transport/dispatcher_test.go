package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/job"
)

// readyJobs has jobs to ring for.
type readyJobs struct {
	mu    sync.Mutex
	due   []int64
	made  int
	asked int
	fail  error
	ready chan struct{}
}

func (d *readyJobs) MakeTickets(_ context.Context, queue string, n int) (ts []job.Ticket, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.fail != nil {
		return nil, d.fail
	}
	n = min(n, len(d.due))
	for _, id := range d.due[:n] {
		d.made++
		ts = append(ts, job.Ticket{JobID: id, Secret: fmt.Sprint(queue, d.made)})
	}
	d.due = d.due[n:]
	return ts, nil
}

func (d *readyJobs) Ready(string) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ready
}

// with changes readyJobs under its lock.
func (d *readyJobs) with(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *readyJobs) add(ids ...int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = append(d.due, ids...)
	close(d.ready)
	d.ready = make(chan struct{})
}

// broker keeps what was published.
type broker struct {
	mu    sync.Mutex
	got   []int64
	calls int
	fail  func(call int, ts []job.Ticket) (left []job.Ticket, err error)
}

func (b *broker) Publish(_ context.Context, ts []job.Ticket) (left []job.Ticket, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.fail != nil {
		left, err = b.fail(b.calls, ts)
	}
	for _, t := range ts[:len(ts)-len(left)] {
		b.got = append(b.got, t.JobID)
	}
	return left, err
}

// failBy lets calls fail, or work again.
func (b *broker) failBy(fail func(call int, ts []job.Ticket) (left []job.Ticket, err error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

func (b *broker) Close() error { return nil }

func (b *broker) Published(_ string, tickets int, _ time.Duration, _ error) {}

// publishing runs a dispatcher under a fake clock.
func publishing(t *testing.T, test func(d *readyJobs, b *broker, log *bytes.Buffer)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, b, log := &readyJobs{ready: make(chan struct{})}, &broker{}, &bytes.Buffer{}
		ctx, cancel := context.WithCancel(t.Context())
		r := transport.Dispatcher{Queue: "render", Store: d, Publisher: b, Batch: 3, Observer: b, Logger: slog.New(slog.NewTextHandler(log, nil))}
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		test(d, b, log)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestARingerRingsAtOnceAndInBatches(t *testing.T) {
	publishing(t, func(d *readyJobs, b *broker, _ *bytes.Buffer) {
		d.add(1, 2, 3, 4, 5, 6, 7)
		synctest.Wait()
		b.mu.Lock()
		if len(b.got) != 7 || b.calls != 3 {
			t.Errorf("%v in %d calls", b.got, b.calls)
		}
		b.mu.Unlock()
		var asked, n int
		d.with(func() { asked = d.asked })
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		d.with(func() { n = d.asked - asked })
		if n != 12 {
			t.Errorf("asked %d times in an idle minute", n)
		}
	})
}

func TestARingerLooksAlthoughNothingWokeIt(t *testing.T) {
	publishing(t, func(d *readyJobs, b *broker, _ *bytes.Buffer) {
		d.with(func() { d.due = append(d.due, 1) })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(b.got) != 1 {
			t.Error("not published")
		}
	})
}

func TestTicketsThatABrokerRefusesAreSentAgain(t *testing.T) {
	away := errors.New("no broker")
	publishing(t, func(d *readyJobs, b *broker, log *bytes.Buffer) {
		b.failBy(func(call int, ts []job.Ticket) ([]job.Ticket, error) {
			if call == 1 {
				return ts[1:], away // one of three arrived
			}
			return ts, away
		})
		d.add(1, 2, 3, 4, 5)
		time.Sleep(time.Hour)
		synctest.Wait()
		if d.made != 3 {
			t.Errorf("%d tickets were made while none could be sent", d.made)
		}
		if b.calls < 100 || b.calls > 300 {
			t.Errorf("%d tries in an hour", b.calls)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "no broker") {
			t.Errorf("log: %s", log)
		}
		b.failBy(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if d.made != 5 || len(b.got) != 5 {
			t.Errorf("%d made, %v sent", d.made, b.got)
		}
		if !strings.Contains(log.String(), "works again") {
			t.Errorf("log: %s", log)
		}
	})
}

// What is left of a call waits no longer for those before it.
func TestABrokerThatTakesAPartIsNotWaitedForLonger(t *testing.T) {
	publishing(t, func(d *readyJobs, b *broker, _ *bytes.Buffer) {
		b.failBy(func(_ int, ts []job.Ticket) ([]job.Ticket, error) {
			return ts[1:], errors.New("throttled")
		})
		for id := range int64(30) {
			d.with(func() { d.due = append(d.due, id) })
		}
		d.add()
		time.Sleep(6 * time.Second) // 29 pauses of 200 ms at most
		synctest.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.got) != 30 {
			t.Errorf("%d of 30 were published", len(b.got))
		}
	})
}

func TestARingerOutlivesItsDesk(t *testing.T) {
	publishing(t, func(d *readyJobs, b *broker, log *bytes.Buffer) {
		d.with(func() { d.fail = errors.New("no database") })
		d.add(1)
		time.Sleep(time.Hour)
		synctest.Wait()
		d.with(func() { d.fail = nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(b.got) != 1 || strings.Count(log.String(), "\n") != 2 {
			t.Errorf("%v, log: %s", b.got, log)
		}
	})
}
