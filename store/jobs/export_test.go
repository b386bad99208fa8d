package jobs

import (
	"time"

	"github.com/belfry-run/belfry/store/base"
)

// WaitingClaims returns how many claims have waited for jobs of one queue for long enough to be carried out within an enqueue.
func (s *Store) WaitingClaims(queue string) (n int) {
	s.Hub.Mu.Lock()
	defer s.Hub.Mu.Unlock()
	if b := s.Hub.Topics[base.TopicQueue(queue)]; b != nil {
		for _, w := range b.Claims {
			if time.Since(w.Since) >= calm {
				n++
			}
		}
	}
	return n
}

// WaitsSince returns when the last waiting claim for jobs of one queue began to wait.
func (s *Store) WaitsSince(queue string) (since time.Time) {
	s.Hub.Mu.Lock()
	defer s.Hub.Mu.Unlock()
	if b := s.Hub.Topics[base.TopicQueue(queue)]; b != nil && len(b.Claims) > 0 {
		since = b.Claims[len(b.Claims)-1].Since
	}
	return since
}

// LooksBack makes the next claims leave looks everywhere to a look back, which is due.
func (s *Store) LooksBack() {
	s.marks.Overdue()
}

// LooksUnderWay reports whether a look back is under way.
func (s *Store) LooksUnderWay() bool { return s.marks.Looking() }

// SeesNothingEarlier makes the looks of the claims that wait for jobs of one queue older by so much.
func (s *Store) SeesNothingEarlier(queue string, by time.Duration) {
	s.Hub.Mu.Lock()
	defer s.Hub.Mu.Unlock()
	for _, w := range s.Hub.Topics[base.TopicQueue(queue)].Claims {
		w.Seen.At = w.Seen.At.Add(-by)
	}
}
