// Package lifecycle gives a loop the four verbs that programs expect of a
// service: Start, Stop, IsRunning, and Start again.
package lifecycle

import (
	"context"
	"fmt"
	"sync"

	"github.com/belfry-run/belfry/core"
)

// Service runs one function at a time. The function returns when its context
// ends and everything it started has ended.
type Service struct {
	name string
	run  func(ctx context.Context) error

	mu      sync.Mutex
	current *execution // the last one started; nil before the first
}

// execution is the time between a Start and the end of what it started.
type execution struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when run has returned
	err    error         // what run returned; read after ended
}

// New names a function for errors. It does not run it.
func New(name string, run func(ctx context.Context) error) *Service {
	return &Service{name: name, run: run}
}

// Start runs the function until Stop is called or the context ends, and
// returns at once. While it runs, or is still stopping, another Start is an
// error.
func (s *Service) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.running() {
		return core.Errorf(core.Conflict, "the %s runs already", s.name).WithHint("stop it first, or make another one")
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &execution{cancel: cancel, ended: make(chan struct{})}
	s.current = t
	go func() {
		defer close(t.ended)
		defer cancel()
		t.err = s.run(ctx)
	}()
	return nil
}

// Stop ends the function and waits for it, at most until the context ends;
// then it goes on stopping by itself. Stopping twice, or before Start, does
// nothing. The error is the function's own, each time it is asked.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	t := s.current
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	t.cancel()
	select {
	case <-t.ended:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("%s is still stopping: %w", s.name, context.Cause(ctx))
	}
}

// IsRunning reports whether the function has not returned yet.
func (s *Service) IsRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.running()
}

// Ended is closed when what was started last has ended, by Stop or by itself.
// It is nil, which blocks for ever, before the first Start.
func (s *Service) Ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.current.ended
}

func (t *execution) running() bool {
	if t == nil {
		return false
	}
	select {
	case <-t.ended:
		return false
	default:
		return true
	}
}
