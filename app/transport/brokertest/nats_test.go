package brokertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/belfry-run/belfry/app/transport"
	"github.com/belfry-run/belfry/app/transport/nats"
	"github.com/belfry-run/belfry/core"
)

// natsServer is the one of this process.
var natsServer *server.Server

func startNATS() (stop func(), err error) {
	folder, err := os.MkdirTemp("", "belfry-nats-")
	if err != nil {
		return nil, err
	}
	natsServer, err = newServer(folder, -1)
	return func() {
		natsServer.Shutdown()
		natsServer.WaitForShutdown()
		_ = os.RemoveAll(folder)
	}, err
}

func newServer(folder string, port int) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoLog: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return nil, errors.New("nats-server does not answer")
	}
	return s, nil
}

func newNATS(t *testing.T, hold time.Duration) *place {
	t.Helper()
	name := newName()
	p := &place{gate: newGate(t, natsServer.Addr().String()), log: &logs{}}
	conn, err := client.Connect(natsServer.ClientURL())
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(t, err)
	p.client = func(t *testing.T) transport.Carrier { return openNATS(t, p.address, name, hold, p.log) }
	p.send = func(t *testing.T, body string) {
		_, err := js.Publish(t.Context(), "belfry.tickets."+name, []byte(body))
		must(t, err)
	}
	p.giveUpAfter = func(t *testing.T, n int) {
		c, err := js.Consumer(t.Context(), name, "workers")
		must(t, err)
		settings := c.CachedInfo().Config
		settings.MaxDeliver = n
		_, err = js.UpdateConsumer(t.Context(), name, settings)
		must(t, err)
	}
	p.dead = func(t *testing.T) int {
		s, err := js.Stream(t.Context(), name+"_dead")
		must(t, err)
		return int(s.CachedInfo().State.Msgs)
	}
	p.refuse = func(t *testing.T) { // full after two more
		s, err := js.Stream(t.Context(), name)
		must(t, err)
		settings := s.CachedInfo().Config
		settings.MaxMsgs = 2
		_, err = js.UpdateStream(t.Context(), settings)
		must(t, err)
	}
	return p
}

func openNATS(t *testing.T, address, name string, hold time.Duration, log *logs) *nats.Stream {
	t.Helper()
	where, err := nats.Parse("nats://" + address + "/" + name)
	must(t, err)
	s, err := nats.Open(where, nats.Options{Hold: hold, Logger: log.logger()})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	eventually(t, "connected", func() bool { return core.CodeOf(s.Check(t.Context())) != core.Unavailable })
	return s
}

func TestTicketsOutliveARestartOfNATS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, err := newServer(folder, -1)
	must(t, err)
	g := newGate(t, s.Addr().String())
	c := openNATS(t, g.address, "RENDER", long, &logs{})
	must(t, c.Setup(t.Context()))
	_, err = c.Publish(t.Context(), tickets(1, 20))
	must(t, err)
	got := receive(t, c, 5)
	must(t, c.Ack(t.Context(), got))
	s.Shutdown()
	s.WaitForShutdown()
	_, err = c.Publish(t.Context(), tickets(21, 21))
	wantCode(t, err, core.Unavailable)

	g.shut()
	s, err = newServer(folder, -1)
	must(t, err)
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	g.to = s.Addr().String()
	g.open(t)
	eventually(t, "connected again", func() bool { return c.Check(t.Context()) == nil })
	got = receive(t, c, 15)
	must(t, c.Ack(t.Context(), got))
	wantNone(t, c)
}

func TestAStreamOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	p := newNATS(t, long)
	conn, err := client.Connect(natsServer.ClientURL())
	must(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	must(t, err)
	name := newName()
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{"other." + name}})
	must(t, err)
	c := openNATS(t, p.address, name, long, p.log)
	wantCode(t, c.Check(t.Context()), core.Invalid)
}

func TestATicketThatIsSentTwiceAtOnceIsOneMessageOfNATS(t *testing.T) {
	t.Parallel()
	p := newNATS(t, long)
	c := p.client(t)
	must(t, c.Setup(t.Context()))
	for range 3 {
		left, err := c.Publish(t.Context(), tickets(1, 4))
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	must(t, c.Ack(t.Context(), receive(t, c, 4)))
	wantNone(t, c)
}

// A message that the broker has lost must not keep away the next one of its ticket.
func TestATicketThatIsMadeAgainIsAnotherMessageOfNATS(t *testing.T) {
	t.Parallel()
	p := newNATS(t, long)
	c := p.client(t)
	must(t, c.Setup(t.Context()))
	for made := range int64(3) {
		ts := tickets(1, 4)
		for i := range ts {
			ts[i].Made = made + 1
		}
		left, err := c.Publish(t.Context(), ts)
		if err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		must(t, c.Ack(t.Context(), receive(t, c, 4)))
	}
	wantNone(t, c)
}

func TestANodeStartsBeforeNATS(t *testing.T) {
	t.Parallel()
	where, err := nats.Parse("nats://127.0.0.1:1/RENDER")
	must(t, err)
	s, err := nats.Open(where, nats.Options{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = s.Receive(ctx, 1, time.Second)
	wantCode(t, err, core.Unavailable)
	left, err := s.Publish(ctx, tickets(1, 3))
	wantCode(t, err, core.Unavailable)
	if len(left) != 3 {
		t.Error(left)
	}
	wantCode(t, s.Check(ctx), core.Unavailable)
	wantCode(t, s.Setup(ctx), core.Unavailable)
	must(t, s.Close())
}
