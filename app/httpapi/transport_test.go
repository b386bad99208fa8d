package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-run/belfry/access"
	"github.com/belfry-run/belfry/app/httpapi/internal/api"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/httpapi/client"
	"github.com/belfry-run/belfry/view"
)

func TestWhoami(t *testing.T) {
	b := setup(t)
	b.tokens.known["worker"] = access.Token{ID: 9, Name: "worker", Namespace: "a", Scopes: []access.Scope{access.ScopeWorker}}
	for name, c := range map[string]*client.Client{"worker": b.as(t, "worker"), "reader": b.within(t, "reader")} {
		if who, err := c.Whoami(t.Context()); err != nil || who.Name != name {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if _, err := b.as(t, "nobody").Whoami(t.Context()); core.CodeOf(err) != core.Unauthorized {
		t.Errorf("%v", err)
	}
}

// What passes without a socket is checked as what passes through one.
func TestTransport(t *testing.T) {
	b := setup(t, func(o *Options) { o.Hosts = []string{"localhost"} })
	c := b.within(t, "reader")
	if _, err := c.Task(t.Context(), "ns", "a"); err != nil {
		t.Errorf("read: %v", err)
	}
	if _, err := c.PauseQueue(t.Context(), "default", "why"); core.CodeOf(err) != core.Forbidden || !strings.Contains(err.Error(), "needs the scope operate") {
		t.Errorf("change without the scope: %v", err)
	}
	if _, err := b.within(t, "nobody").Queues(t.Context()); core.CodeOf(err) != core.Unauthorized {
		t.Errorf("unknown token: %v", err)
	}
	b.when("Health", func(context.Context, []any) (any, error) { panic("oh") })
	if _, err := c.Health(t.Context()); core.CodeOf(err) != core.Internal {
		t.Errorf("panic: %v", err)
	}
	b.when("Queues", func(ctx context.Context, _ []any) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { b.await(t.Context(), "Queues", 1); cancel() }()
	if _, err := c.Queues(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestTransportStreams(t *testing.T) {
	b := setup(t)
	enough := errors.New("enough")
	if err := b.within(t, "root").Watch(t.Context(), "*", func(view.Event) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

func TestTransportKeepsTheAddressOfTheBrowser(t *testing.T) {
	b := setup(t)
	pages := b.server.api.Observed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := b.within(t, "guess").Queues(r.Context())
		if e := new(core.Error); errors.As(err, &e) && strings.Contains(e.Message, "too many") {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	status := func(from string) int {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = from
		w := &api.Probe{Sent: http.Header{}}
		pages.ServeHTTP(w, r)
		return w.Status
	}
	// A slow machine may allow a few more meanwhile, but not for ever.
	got := 0
	for tries := 0; got != http.StatusTooManyRequests && tries < 100*api.FailuresAtOnce; tries++ {
		got = status("192.0.2.1:5")
	}
	if got != http.StatusTooManyRequests {
		t.Errorf("the guesser got %d", got)
	}
	if got := status("192.0.2.2:5"); got != 0 {
		t.Errorf("another got %d", got)
	}
}
