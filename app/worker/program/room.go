package program

import (
	"fmt"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// room is the memory that the worker offers to programs. Each takes its limit
// while it runs, whatever it uses.
type room struct {
	offered int64 // 0: not bounded

	mu      sync.Mutex
	taken   int64
	waiting int64 // what the last that was refused wants; 0: none was
}

// take takes memory for a run, or says why there is none. leave gives it back.
func (m *room) take(want int64) (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.offered > 0 && want > m.offered-m.taken {
		m.waiting = want
		return nil, fmt.Errorf("it may use %s (limits.memory), and programs that run here have %s of %s",
			core.SizeText(want), core.SizeText(m.taken), core.SizeText(m.offered))
	}
	m.taken += want
	if want >= m.waiting {
		m.waiting = 0
	}
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.taken -= want
	}), nil
}

// full reports that there is no room yet for the last that was refused.
func (m *room) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting > 0 && m.waiting > m.offered-m.taken
}

// Full implements [worker.Bounded]: nothing more is claimed until the last program that was refused has room, so that a large
// one is not passed by small ones for ever.
func (e *Executor) Full() bool { return e.room.full() }
