package store

import (
	"math"
	"time"
)

// WaitingClaims is how many claims have waited for jobs of a queue alone for long
// enough to go along with one.
func (s *Store) WaitingClaims(queue string) (n int) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if b := s.hub.topics[topicQueue(queue)]; b != nil {
		for _, w := range b.claims {
			if time.Since(w.since) >= calm {
				n++
			}
		}
	}
	return n
}

// WaitsSince is when the last of the claims for jobs of a queue alone came.
func (s *Store) WaitsSince(queue string) (since time.Time) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if b := s.hub.topics[topicQueue(queue)]; b != nil && len(b.claims) > 0 {
		since = b.claims[len(b.claims)-1].since
	}
	return since
}

// LooksBack has the next claims leave looks everywhere to somebody who looks back,
// which is due.
func (s *Store) LooksBack() {
	s.water.mu.Lock()
	defer s.water.mu.Unlock()
	s.water.dear = math.MinInt64
	for _, m := range s.water.marks {
		m.lookAgain = time.Time{}
	}
}

// LooksUnderWay reports that somebody looks back.
func (s *Store) LooksUnderWay() bool {
	s.water.mu.Lock()
	defer s.water.mu.Unlock()
	for _, m := range s.water.marks {
		if m.looking {
			return true
		}
	}
	return false
}

// SeenNothingAt is when the first who waits for jobs of a queue alone saw that
// there is none.
func (s *Store) SeenNothingAt(queue string) time.Time {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if b := s.hub.topics[topicQueue(queue)]; b != nil && len(b.claims) > 0 {
		return b.claims[0].seen.at
	}
	return time.Time{}
}

// SeesNothingEarlier has those who wait for jobs of a queue alone have seen so
// much earlier that there is none.
func (s *Store) SeesNothingEarlier(queue string, by time.Duration) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for _, w := range s.hub.topics[topicQueue(queue)].claims {
		w.seen.at = w.seen.at.Add(-by)
	}
}
