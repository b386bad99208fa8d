package signin_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-run/belfry/app/ui/signin"
	"github.com/belfry-run/belfry/core"
	"github.com/belfry-run/belfry/internal/hostile"
)

// TestHostilePeers has providers that answer badly or never: a person who wants to sign in is told so in the time of one call,
// and the end of a node does not wait for them.
func TestHostilePeers(t *testing.T) {
	var all sync.WaitGroup
	for _, p := range hostile.HTTP {
		s := hostile.Serve(t, p)
		provider, err := signin.New(signin.Options{Issuer: "http://" + s.Address, ClientID: "belfry"})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			ctx, stop := context.WithCancel(t.Context())
			begun := time.Now()
			_, _, err := provider.Begin(ctx, "http://127.0.0.1/callback")
			if core.CodeOf(err) != core.Unavailable || !strings.Contains(err.Error(), "cannot be asked just now") {
				t.Errorf("%s: %v", p.Name, err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("%s: it took %s", p.Name, took)
			}
			stop()
			begun = time.Now()
			if err := provider.Run(ctx); err != nil || time.Since(begun) > 5*time.Second {
				t.Errorf("%s: the end took %s, %v", p.Name, time.Since(begun), err)
			}
			s.Closed(t, p.Name)
		})
	}
	all.Wait()
}
