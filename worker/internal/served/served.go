// Package served records the queues that a worker serves. The queues of one
// session share it, and a renewal tells the server.
package served

import (
	"maps"
	"sync"
)

// Queues are the queues of a worker, each with its slots. Changed tells the session about changes.
type Queues struct {
	// Changed receives an element when the queues change.
	Changed chan struct{}

	mu     sync.Mutex
	queues map[string]int
	other  bool // differs from the queues with which the session began
}

// New returns the initial queues of a worker.
func New(queues map[string]int) *Queues {
	return &Queues{queues: queues, Changed: make(chan struct{}, 1)}
}

// Set replaces the queues.
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

// Begin returns the queues with which a new session begins.
func (s *Queues) Begin() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = false
	return s.queues
}

// Now returns the current queues, and whether the session began with others.
func (s *Queues) Now() (queues map[string]int, other bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues, s.other
}
