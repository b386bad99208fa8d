package signin

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A network whose visitors come back with made-up codes, while the provider is slow, keeps out no other network.
func TestANetworkCannotKeepOthersFromSigningIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newExchangeLimiter()
		flood, other := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
		var leaves []func()
		for range maxFrom {
			leave, err := turns.enter(t.Context(), flood)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		if _, err := turns.enter(t.Context(), flood); err == nil || !strings.Contains(err.Error(), "from your network") {
			t.Errorf("one more of the network: %v", err)
		}
		begun := time.Now()
		go func() {
			time.Sleep(time.Second) // as long as the provider takes
			leaves[0]()
		}()
		leave, err := turns.enter(t.Context(), other)
		if took := time.Since(begun); err != nil || took != time.Second {
			t.Fatalf("another network waited %s: %v", took, err)
		}
		if _, err := turns.enter(t.Context(), other); err == nil || time.Since(begun) != time.Second+slotWait {
			t.Errorf("a turn is waited for %s: %v", time.Since(begun), err)
		}
		leave()
		for _, leave := range leaves[1:] {
			leave()
		}
		if len(turns.of) > 0 || len(turns.slots) > 0 {
			t.Errorf("turns are left: %v, %d", turns.of, len(turns.slots))
		}
	})
}

// A visitor who leaves while the provider is looked for says nothing of the provider to others.
func TestACanceledSignInCountsNoFailureOfTheProvider(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leave()
		<-r.Context().Done()
	}))
	defer s.Close()
	p, err := New(Options{Issuer: s.URL, ClientID: "belfry"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.client.CloseIdleConnections()
	if _, err := p.find(ctx); err == nil || p.failed != nil {
		t.Errorf("%v, and the next is told %v", err, p.failed)
	}
}
