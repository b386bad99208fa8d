package reach

import (
	"context"
	"slices"
	"sync"

	"github.com/belfry-run/belfry/task"
)

// hosts limits the checks that are at a host and port at the same time. It keeps hosts in use, and tasks whose last check
// waited for too long: these go first the next time. So when a silent host has more monitors than can be checked in time, each
// of them still gets a result at every other check.
type hosts struct {
	limit int
	mu    sync.Mutex
	open  map[string]*host
	late  map[taskName]bool
}

// maxLate bounds what is kept of tasks. Beyond it, all wait as the others do.
const maxLate = 10_000

type taskName struct{ namespace, name string }

type host struct {
	inside        int
	first, others []chan struct{} // who waits; closed when it is their turn
}

func (h *hosts) wasLate(t task.Task) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.late[taskName{t.Namespace, t.Name}]
}

// note keeps whether the check of a task had to wait for too long.
func (h *hosts) note(t task.Task, late bool) {
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

// enter waits for a turn, and says how to give it back.
func (h *hosts) enter(ctx context.Context, name string, first bool) (leave func(), err error) {
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
		h.pass(name, at)
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
	if !at.forget(turn) { // it has come just now
		h.pass(name, at)
	}
	return nil, context.Cause(ctx)
}

// pass gives a turn to the next in line.
func (h *hosts) pass(name string, at *host) {
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

// forget removes one who waits no longer, and reports that it was still waiting.
func (at *host) forget(turn chan struct{}) bool {
	for _, waiting := range []*[]chan struct{}{&at.first, &at.others} {
		if i := slices.Index(*waiting, turn); i >= 0 {
			*waiting = slices.Delete(*waiting, i, i+1)
			return true
		}
	}
	return false
}
