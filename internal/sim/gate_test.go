package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
)

// gate admits one transaction at a time, when all other goroutines of the bubble wait. Only the seed decides which one:
// goroutines that wake at the same instant reach the gate in an order of the Go scheduler, but wait there in the order of
// their labels.
type gate struct {
	mu      sync.Mutex
	waiting []*turn
	bell    chan struct{}
	choice  *rand.Rand
	twice   string // a label with two waiting calls, whose order is random
	passed  int
}

// turn is one call that waits at the gate.
type turn struct {
	label string
	begin chan struct{}
	end   chan struct{}
}

func newGate(seed uint64) *gate {
	return &gate{bell: make(chan struct{}, 1), choice: rand.New(rand.NewPCG(seed, 1))}
}

// enter waits for a turn. After it, the caller must call leave.
func (g *gate) enter(ctx context.Context, dead <-chan struct{}, label string) (leave func(), err error) {
	t := &turn{label, make(chan struct{}), make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, t)
	g.mu.Unlock()
	select {
	case g.bell <- struct{}{}:
	default:
	}
	select {
	case <-t.begin:
		return func() { close(t.end) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-dead:
		err = errDead
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, t); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		close(t.end) // the call was admitted at the moment when it gave up
	}
	return nil, err
}

// run schedules the calls at the gate.
func (g *gate) run(stop <-chan struct{}) {
	for {
		select {
		case <-g.bell:
		case <-stop:
			return
		}
		for {
			synctest.Wait()
			t := g.next()
			if t == nil {
				break
			}
			close(t.begin)
			<-t.end
		}
	}
}

func (g *gate) next() *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	i := 0
	if len(g.waiting) > 1 {
		slices.SortFunc(g.waiting, func(a, b *turn) int {
			if c := strings.Compare(a.label, b.label); c != 0 {
				return c
			}
			g.twice = fmt.Sprintf("two calls %q wait at once", a.label)
			return 0
		})
		i = g.choice.IntN(len(g.waiting))
	}
	t := g.waiting[i]
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.passed++
	return t
}
