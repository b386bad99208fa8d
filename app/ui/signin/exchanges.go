package signin

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// Limits of people who come back at the same time.
const (
	maxCalls = 8                // whose codes are exchanged; others wait
	maxFrom  = 8                // of one network, those who wait included
	slotWait = 10 * time.Second // for a slot
)

// exchangeLimiter bounds how many codes are exchanged at once. A visitor needs no right to come back with a made-up code, and the
// provider may be slow: so a network has a few slots, and cannot keep out the others.
type exchangeLimiter struct {
	slots chan struct{}

	mu sync.Mutex
	of map[netip.Prefix]int
}

func newExchangeLimiter() *exchangeLimiter {
	return &exchangeLimiter{slots: make(chan struct{}, maxCalls), of: map[netip.Prefix]int{}}
}

// enter waits for a slot of a network, which leave gives back.
func (t *exchangeLimiter) enter(ctx context.Context, from netip.Prefix) (leave func(), err error) {
	if !t.add(from) {
		return nil, refuse(core.Unavailable, nil, "try again in a few seconds", "too many people sign in from your network just now")
	}
	ctx, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots; t.remove(from) }, nil
	case <-ctx.Done():
		t.remove(from)
		return nil, refuse(core.Unavailable, nil, "try again in a few seconds", "too many people sign in just now")
	}
}

func (t *exchangeLimiter) add(from netip.Prefix) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[from] >= maxFrom {
		return false
	}
	t.of[from]++
	return true
}

func (t *exchangeLimiter) remove(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[from]--; t.of[from] == 0 {
		delete(t.of, from)
	}
}
