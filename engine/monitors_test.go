package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-run/belfry/alert"
	"github.com/belfry-run/belfry/engine"
	"github.com/belfry-run/belfry/store/sqlite"
	"github.com/belfry-run/belfry/view"
)

// post is an outbox with messages, one after the other for each channel.
type post struct {
	engine.Store
	mu      sync.Mutex
	waiting []view.TakenAlert
	busy    map[string]bool
	settled []string
	takes   int
	broken  int // how many of the next calls fail
}

func (p *post) TakeAlerts(_ context.Context, _ string, channels int) (out view.TakenAlerts, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.takes++; p.broken > 0 {
		p.broken--
		return out, errors.New("the database is away")
	}
	out.Now = time.Now()
	p.waiting = slices.DeleteFunc(p.waiting, func(t view.TakenAlert) bool {
		if p.busy[t.Channel.Name] || len(out.Messages) == channels {
			return false
		}
		p.busy[t.Channel.Name] = true
		out.Messages = append(out.Messages, t)
		return true
	})
	if len(p.waiting) > 0 && len(out.Messages) == channels {
		out.NextAt = out.Now // of those that were left
	}
	return out, nil
}

func (p *post) SettleAlerts(ctx context.Context, t view.TakenAlert, delivered view.DeliveryResult) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, t.Channel.Name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.settled = append(p.settled, t.Message.Key+delivered.Error)
	return nil
}

func (p *post) put(channel, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, view.TakenAlert{Channel: alert.Channel{Name: channel}, Message: alert.Message{Key: key}})
}

func (p *post) done() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprint(p.settled)
}

// courier takes what to do from the channel's name.
type courier struct{}

func (courier) Send(ctx context.Context, c alert.Channel, _ alert.Message) view.DeliveryResult {
	switch c.Name {
	case "silent":
		<-ctx.Done()
		return view.DeliveryResult{Error: " was not heard"}
	case "slow":
		time.Sleep(10 * time.Second)
	}
	if strings.HasPrefix(c.Name, "dead") {
		<-ctx.Done()
		return view.DeliveryResult{Error: " was not heard"}
	}
	if strings.HasPrefix(c.Name, "crowd") {
		time.Sleep(view.AlertTimeout - time.Second)
	}
	return view.DeliveryResult{}
}

// delivering runs an engine on a post inside a bubble.
func delivering(t *testing.T, fn func(t *testing.T, p *post, stop func())) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(dir, "belfry.db"), sqlite.Options{Synchronous: "NORMAL"})
		if err != nil {
			t.Fatal(err)
		}
		p := &post{Store: st, busy: map[string]bool{}}
		e, err := engine.New(engine.Options{Store: p, Sender: courier{}, Release: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		stopped := false
		stop := func() {
			if !stopped {
				stopped = true
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		fn(t, p, stop)
		stop()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAChannelThatDoesNotAnswerHoldsUpNobody(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, _ func()) {
		p.put("silent", "1")
		wait(6 * time.Second)
		p.put("quick", "2")
		wait(6 * time.Second)
		if got := p.done(); got != "[2]" {
			t.Errorf("told while a channel does not answer: %s", got)
		}
		wait(view.AlertTimeout)
		if got := p.done(); got != "[2 1 was not heard]" {
			t.Errorf("told in the end: %s", got)
		}
	})
}

// What is taken is on its way, and not in a queue here in which its time as this
// node's own could run out.
func TestAMessageIsTakenWhenItCanBeSent(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, _ func()) {
		const channels = 600
		for i := range channels {
			p.put(fmt.Sprint("crowd", i), fmt.Sprint(i))
		}
		for range 300 {
			wait(time.Second)
			p.mu.Lock()
			taken, delivered := len(p.busy), len(p.settled)
			p.mu.Unlock()
			if delivered == channels {
				return
			}
			if taken > 256 {
				t.Fatalf("%d messages are taken, and 256 can be on their way", taken)
			}
		}
		t.Errorf("told in five minutes: %s", p.done())
	})
}

func TestWhatWasToldIsRecordedThoughTheNodeStops(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, stop func()) {
		p.put("slow", "1")
		p.put("silent", "2")
		wait(6 * time.Second)
		stop()
		if got := p.done(); got != "[1]" { // the other was cut off, and is another node's to tell
			t.Errorf("recorded: %s", got)
		}
	})
}

func TestAnOutboxThatFailsIsAskedAgain(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, _ func()) {
		p.mu.Lock()
		p.broken = 10
		p.mu.Unlock()
		p.put("quick", "1")
		wait(5 * time.Minute)
		if got := p.done(); got != "[1]" {
			t.Errorf("told: %s, after %d looks", got, p.takes)
		}
		if p.takes > 200 {
			t.Errorf("it was asked %d times in five minutes", p.takes)
		}
	})
}

func TestDeadReceiversDelayNoHealthyChannel(t *testing.T) {
	for _, dead := range []int{12, 100} {
		delivering(t, func(t *testing.T, p *post, _ func()) {
			for i := range dead {
				p.put(fmt.Sprint("dead", i), "x")
			}
			p.put("quick", "1")
			wait(6 * time.Second)
			if got := p.done(); got != "[1]" {
				t.Errorf("delivered beside %d dead receivers: %s", dead, got)
			}
		})
	}
}

func TestATryThatIsDeafToItsDeadlineGivesItsSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Synchronous: "NORMAL"})
		if err != nil {
			t.Fatal(err)
		}
		p, release := &post{Store: st, busy: map[string]bool{}}, make(chan struct{})
		e, err := engine.New(engine.Options{Store: p, Sender: deaf(release), Release: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		for i := range 5 {
			p.put("deaf", fmt.Sprint(i))
		}
		wait(10 * view.AlertTimeout)
		if n := e.StuckTries(); n != 3 {
			t.Errorf("%d tries are left behind, and three may be", n)
		}
		if got := p.done(); !strings.Contains(got, "3it is not tried") || !strings.Contains(got, "0the try did not end within 32s") {
			t.Errorf("settled: %s", got)
		}
		close(release)
		wait(time.Second)
		if n := e.StuckTries(); n != 0 {
			t.Errorf("%d tries are left behind, and all have ended", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// deaf is a sender whose tries end when the channel is closed, and no sooner.
type deaf chan struct{}

func (d deaf) Send(context.Context, alert.Channel, alert.Message) view.DeliveryResult {
	<-d
	return view.DeliveryResult{}
}
