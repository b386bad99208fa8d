package store

import "time"

// LooksAreDear makes passes of [Store.FireDue] begin at the mark from now on, or
// look everywhere once.
func (s *Store) LooksAreDear(dear bool) {
	s.due.mu.Lock()
	defer s.due.mu.Unlock()
	s.due.lookAgain = time.Time{}
	if dear {
		s.due.lookAgain = time.Now().Add(time.Hour)
	}
}
