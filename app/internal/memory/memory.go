// Package memory bounds the bytes of the bodies and answers that requests have in progress at once. The API and the web interface
// take shares for requests whose caller they know, so that no caller can take the memory of a node.
package memory

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-run/belfry/core"
)

// 64 callers with bodies of 3 MiB had taken a node 1.5 GB, and 64 readers of pages of 8 MiB had taken it 1.9 GB: seven and four
// times the bytes, while a node takes thousands of connections.
const (
	// All is how many bytes the requests of all holders may have.
	All = 64 << 20
	// Most is how many of them the requests of one holder may have.
	Most = All / 4
	// Wait is the longest wait of a request for its share.
	Wait = 30 * time.Second
)

// Shares bounds the bytes of the requests in progress. Requests beyond the bound wait in the order in which they came.
type Shares struct {
	all *semaphore.Weighted

	mu sync.Mutex
	of map[string]*share
}

// share is what one holder has, such as a namespace, while it has requests.
type share struct {
	*semaphore.Weighted
	requests int
}

// New returns shares of [All] bytes.
func New() *Shares {
	return &Shares{all: semaphore.NewWeighted(All), of: map[string]*share{}}
}

// Take waits for n bytes, at most [Most], for a request of a holder. The request gives them back with the returned function. After
// [Wait] the error is [core.Unavailable].
func (s *Shares) Take(ctx context.Context, holder string, n int64) (give func(), err error) {
	n = min(n, Most)
	of := s.enter(holder)
	wait, cancel := context.WithTimeout(ctx, Wait)
	defer cancel()
	if of.Acquire(wait, n) != nil {
		s.leave(holder)
		return nil, core.Errorf(core.Unavailable, "too many large requests of %s are in progress", holder).
			WithHint("send fewer at once, or smaller ones")
	}
	if s.all.Acquire(wait, n) != nil {
		of.Release(n)
		s.leave(holder)
		return nil, core.Errorf(core.Unavailable, "too many large requests are in progress").WithHint("try again later")
	}
	return func() {
		s.all.Release(n)
		of.Release(n)
		s.leave(holder)
	}, nil
}

func (s *Shares) enter(holder string) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[holder]
	if of == nil {
		of = &share{Weighted: semaphore.NewWeighted(Most)}
		s.of[holder] = of
	}
	of.requests++
	return of
}

func (s *Shares) leave(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[holder]
	if of.requests--; of.requests == 0 {
		delete(s.of, holder)
	}
}
