package program

import (
	"fmt"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// memory is the memory that the worker offers to programs. A running program takes
// its limit, independent of its use.
type memory struct {
	offered int64 // 0: unlimited

	mu      sync.Mutex
	taken   int64
	waiting int64 // memory of the last refused program; 0: none
}

// reserve reserves memory for a run, or returns why there is none. leave releases it.
func (m *memory) reserve(want int64) (leave func(), err error) {
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

// isFull reports whether the last refused program still does not fit.
func (m *memory) isFull() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting > 0 && m.waiting > m.offered-m.taken
}

// Full implements [worker.Bounded]: no job is claimed until the last refused program fits, so that small programs do not
// pass a large one forever.
func (e *Executor) Full() bool { return e.memory.isFull() }
