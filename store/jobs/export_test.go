package jobs

import (
	"time"

	"github.com/belfry-run/belfry/store/base"
)

// WaitingClaims is how many claims have waited for jobs of a queue alone for long
// enough to go along with one.
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

// WaitsSince is when the last of the claims for jobs of a queue alone came.
func (s *Store) WaitsSince(queue string) (since time.Time) {
	s.Hub.Mu.Lock()
	defer s.Hub.Mu.Unlock()
	if b := s.Hub.Topics[base.TopicQueue(queue)]; b != nil && len(b.Claims) > 0 {
		since = b.Claims[len(b.Claims)-1].Since
	}
	return since
}

// LooksBack has the next claims leave looks everywhere to somebody who looks back,
// which is due.
func (s *Store) LooksBack() {
	s.water.Overdue()
}

// LooksUnderWay reports that somebody looks back.
func (s *Store) LooksUnderWay() bool { return s.water.Looking() }

// SeesNothingEarlier has those who wait for jobs of a queue alone have seen so
// much earlier that there is none.
func (s *Store) SeesNothingEarlier(queue string, by time.Duration) {
	s.Hub.Mu.Lock()
	defer s.Hub.Mu.Unlock()
	for _, w := range s.Hub.Topics[base.TopicQueue(queue)].Claims {
		w.Seen.At = w.Seen.At.Add(-by)
	}
}
