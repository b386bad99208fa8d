package base

// Epochal is a database that may go back to an earlier state while this process runs: a standby that was behind is
// promoted, or a copy is restored. A new epoch begins then, in which no session is alive, no lease is good and no
// number is drawn again.
type Epochal interface {
	// OnEpoch has fn run when this process finds that a new epoch has begun. It must not wait for the database.
	OnEpoch(fn func())
}

// LostByEpoch is what a session has in its column lost when it ended with its epoch.
const LostByEpoch = 2

// forget is for a new epoch: what this process has seen may be of a history that is lost.
func (s *Store) forget() {
	s.watch.mu.Lock()
	s.watch.last = look{} // another server may have another clock
	s.watch.mu.Unlock()
	for _, fn := range s.clockSet { // they drop what they know of times and of what is left
		fn()
	}
	s.Hub.heard("") // claims look again, and workers learn that their sessions have ended
}
