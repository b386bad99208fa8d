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
	turnWait = 10 * time.Second // for a turn
)

// turns bounds how many codes are exchanged at once. A visitor needs no right to come back with a made-up code, and the
// provider may be slow: so a network has a few turns, and cannot keep out the others.
type turns struct {
	places chan struct{}

	mu sync.Mutex
	of map[netip.Prefix]int
}

func newTurns() *turns {
	return &turns{places: make(chan struct{}, maxCalls), of: map[netip.Prefix]int{}}
}

// enter waits for a turn of a network, which leave gives back.
func (t *turns) enter(ctx context.Context, from netip.Prefix) (leave func(), err error) {
	if !t.add(from) {
		return nil, refuse(core.Unavailable, nil, "try again in a few seconds", "too many people sign in from your network just now")
	}
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case t.places <- struct{}{}:
		return func() { <-t.places; t.remove(from) }, nil
	case <-ctx.Done():
		t.remove(from)
		return nil, refuse(core.Unavailable, nil, "try again in a few seconds", "too many people sign in just now")
	}
}

func (t *turns) add(from netip.Prefix) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[from] >= maxFrom {
		return false
	}
	t.of[from]++
	return true
}

func (t *turns) remove(from netip.Prefix) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[from]--; t.of[from] == 0 {
		delete(t.of, from)
	}
}
