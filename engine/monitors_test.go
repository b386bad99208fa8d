package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// post is an outbox with a list of messages for each channel.
type post struct {
	engine.Store
	mu      sync.Mutex
	waiting []view.TakenAlert
	busy    map[string]bool
	settled []string
	takes   int
	broken  int // number of next calls that fail
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
		out.NextAt = out.Now // messages that were not taken are due now
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
	if delivered.Cut {
		delivered.Error = " was cut off"
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

// courier is a sender whose behaviour depends on the channel's name.
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

// delivering runs an engine with a post inside a bubble.
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

func TestASilentChannelDelaysNoOtherChannel(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, _ func()) {
		p.put("silent", "1")
		wait(6 * time.Second)
		p.put("quick", "2")
		wait(6 * time.Second)
		if got := p.done(); got != "[2]" {
			t.Errorf("deliveries while a channel does not answer are %s, want [2]", got)
		}
		wait(view.AlertTimeout)
		if got := p.done(); got != "[2 1 was not heard]" {
			t.Errorf("deliveries after the timeout are %s, want [2 1 was not heard]", got)
		}
	})
}

// A message is claimed only when it can be sent at once. In a queue of this node
// its claim could expire.
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
				t.Fatalf("%d messages are claimed, want at most 256", taken)
			}
		}
		t.Errorf("deliveries in five minutes are %s, want all %d", p.done(), channels)
	})
}

func TestSentNotificationsAreRecordedWhileTheNodeStops(t *testing.T) {
	delivering(t, func(t *testing.T, p *post, stop func()) {
		p.put("slow", "1")
		p.put("silent", "2")
		wait(6 * time.Second)
		stop()
		if got := p.done(); got != "[2 was cut off 1]" { // and is left to another node
			t.Errorf("recorded deliveries are %s, want [2 was cut off 1]", got)
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
			t.Errorf("deliveries after %d calls of TakeAlerts are %s, want [1]", p.takes, got)
		}
		if p.takes > 200 {
			t.Errorf("TakeAlerts was called %d times in five minutes, want at most 200", p.takes)
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
				t.Errorf("deliveries beside %d dead receivers are %s, want [1]", dead, got)
			}
		})
	}
}

func TestEventsOfAHookAreNotSaidToBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Synchronous: "NORMAL"})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close() //nolint:errcheck // of a test
		p, said := &post{Store: st, busy: map[string]bool{}}, &bytes.Buffer{}
		p.waiting = []view.TakenAlert{{Channel: alert.Channel{Name: "mail"}}, {Channel: alert.Channel{Name: "hook/h"}, Hook: 1}}
		e, err := engine.New(engine.Options{Store: p, Sender: denied{}, Logger: slog.New(slog.NewTextHandler(said, nil)), Release: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		wait(time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, want := range []string{"channel=mail namespace=\"\" tries=1 final=true", "channel=hook/h namespace=\"\" tries=1 final=false"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("got %s, want %s", said, want)
			}
		}
	})
}

// denied is a sender whose messages are refused for good.
type denied struct{}

func (denied) Send(context.Context, alert.Channel, alert.Message) view.DeliveryResult {
	return view.DeliveryResult{Error: "the address is denied", Permanent: true}
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
			t.Errorf("%d attempts are left behind, want 3", n)
		}
		if got := p.done(); !strings.Contains(got, "3it is not tried") || !strings.Contains(got, "0the try did not end within 32s") {
			t.Errorf("recorded results are %s, want those of stuck and untried attempts", got)
		}
		close(release)
		wait(time.Second)
		if n := e.StuckTries(); n != 0 {
			t.Errorf("%d attempts are left behind after all have ended, want 0", n)
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

// deaf is a sender whose attempts end only when the Go channel is closed.
type deaf chan struct{}

func (d deaf) Send(context.Context, alert.Channel, alert.Message) view.DeliveryResult {
	<-d
	return view.DeliveryResult{}
}
