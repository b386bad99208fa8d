package reach

import (
	"context"
	"slices"
	"sync"

	"github.com/belfry-run/belfry/task"
)

// hostLimiter limits the concurrent checks of a host and port. It remembers tasks whose last check waited too long: they go first
// the next time. So if a silent host has more monitors than can be checked in time, each of them still gets a result at every
// second check.
type hostLimiter struct {
	limit int
	mu    sync.Mutex
	open  map[string]*host
	late  map[taskName]bool
}

// maxLate limits the remembered tasks. Further tasks wait without priority.
const maxLate = 10_000

type taskName struct{ namespace, name string }

type host struct {
	inside        int
	first, others []chan struct{} // waiting checks; closed at their turn
}

func (h *hostLimiter) wasLate(t task.Task) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.late[taskName{t.Namespace, t.Name}]
}

// note records whether the check of a task waited too long.
func (h *hostLimiter) note(t task.Task, late bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := taskName{t.Namespace, t.Name}
	switch {
	case !late:
		delete(h.late, n)
	case h.late == nil || len(h.late) >= maxLate:
		h.late = map[taskName]bool{n: true}
	default:
		h.late[n] = true
	}
}

// enter waits for a turn, and returns the function that ends it.
func (h *hostLimiter) enter(ctx context.Context, name string, first bool) (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.open[name]
	if at == nil {
		at = &host{}
		if h.open == nil {
			h.open = map[string]*host{}
		}
		h.open[name] = at
	}
	leave = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.wakeNext(name, at)
	}
	if at.inside < h.limit {
		at.inside++
		return leave, nil
	}
	turn := make(chan struct{})
	if first {
		at.first = append(at.first, turn)
	} else {
		at.others = append(at.others, turn)
	}
	h.mu.Unlock()
	select {
	case <-turn:
		h.mu.Lock()
		return leave, nil
	case <-ctx.Done():
		h.mu.Lock()
	}
	if !at.forget(turn) { // the turn came at the same time
		h.wakeNext(name, at)
	}
	return nil, context.Cause(ctx)
}

// wakeNext gives a turn to the next in line.
func (h *hostLimiter) wakeNext(name string, at *host) {
	for _, waiting := range []*[]chan struct{}{&at.first, &at.others} {
		if len(*waiting) > 0 {
			close((*waiting)[0])
			*waiting = (*waiting)[1:]
			return
		}
	}
	if at.inside--; at.inside == 0 {
		delete(h.open, name)
	}
}

// forget removes a waiting check, and reports whether it was still waiting.
func (at *host) forget(turn chan struct{}) bool {
	for _, waiting := range []*[]chan struct{}{&at.first, &at.others} {
		if i := slices.Index(*waiting, turn); i >= 0 {
			*waiting = slices.Delete(*waiting, i, i+1)
			return true
		}
	}
	return false
}
