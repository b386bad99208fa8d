package nats_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/transport/nats"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
	"github.com/belfry-run/belfry/job"
)

// within is how long a call may take whose context ends at once, on any machine.
const within = 8 * time.Second

// TestHostilePeers has servers that take the connection and are no broker: each call ends with its context, in words, and so
// does the client.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	peers := append([]hostile.Peer{{Name: "greets and says no more", Talk: func(c net.Conn) {
		_, _ = c.Write([]byte(`INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1000}` + "\r\n"))
		hostile.TCP[0].Talk(c)
	}}}, hostile.TCP...)
	for _, p := range peers {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			s := hostile.Serve(t, p)
			place, err := nats.Parse("nats://" + s.Address + "/S?servers=" + s.Address)
			if err != nil {
				t.Fatal(err)
			}
			took := func(what string, do func(ctx context.Context)) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				begun := time.Now()
				do(ctx)
				if took := time.Since(begun); took > within {
					t.Errorf("%s took %s", what, took)
				}
			}
			var c *nats.Stream
			took("open", func(context.Context) { c, err = nats.Open(place, nats.Options{}) })
			if err != nil {
				t.Fatal(err)
			}
			fails := func(what string, err error) {
				t.Helper()
				if core.CodeOf(err) != core.Unavailable {
					t.Errorf("%s: %v", what, err)
				}
			}
			for range 3 {
				took("check", func(ctx context.Context) { fails("check", c.Check(ctx)) })
				took("setup", func(ctx context.Context) { fails("setup", c.Setup(ctx)) })
				took("publish", func(ctx context.Context) {
					left, err := c.Publish(ctx, []job.Ticket{{JobID: 1, Secret: "a"}})
					if fails("publish", err); len(left) != 1 {
						t.Errorf("%d tickets are left", len(left))
					}
				})
				took("receive", func(ctx context.Context) {
					_, err := c.Receive(ctx, 1, time.Minute)
					fails("receive", err)
				})
				took("acknowledge", func(ctx context.Context) { fails("acknowledge", c.Ack(ctx, []job.Delivery{{Receipt: "x"}})) })
			}
			took("close", func(context.Context) { _ = c.Close() })
			s.Closed(t, p.Name)
		})
	}
}
