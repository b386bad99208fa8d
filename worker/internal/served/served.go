// Package served keeps which queues a worker serves by now.
package served

import (
	"maps"
	"sync"
)

// Queues are those of a worker, each with its slots. They tell its session when they change.
type Queues struct {
	// Changed gets an entry when the queues are others.
	Changed chan struct{}

	mu     sync.Mutex
	queues map[string]int
	other  bool // than those that the session began with
}

// New are the queues that a worker begins with.
func New(queues map[string]int) *Queues {
	return &Queues{queues: queues, Changed: make(chan struct{}, 1)}
}

// Set changes them.
func (s *Queues) Set(queues map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if maps.Equal(s.queues, queues) {
		return
	}
	s.queues, s.other = queues, true
	select {
	case s.Changed <- struct{}{}:
	default:
	}
}

// Begin is the queues that a session begins with.
func (s *Queues) Begin() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = false
	return s.queues
}

// Now is the queues that are served, and whether the session began with others.
func (s *Queues) Now() (queues map[string]int, other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues, s.other
}
