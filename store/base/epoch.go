package base

// Epochal is a database that may return to an earlier state while this process runs: a lagging standby is promoted, or a backup
// is restored. Then a new epoch begins: all sessions have ended, all leases are void, and no number is drawn twice.
type Epochal interface {
	// OnEpoch registers fn to run when this process detects a new epoch. fn must not wait for the database.
	OnEpoch(fn func())
}

// LostByEpoch is the value of the column lost of a session that ended with its epoch.
const LostByEpoch = 1

// forget drops the caches of this process for a new epoch: they may come from a lost history.
func (s *Store) forget() {
	s.watch.mu.Lock()
	s.watch.last = clockReading{} // another server may have another clock
	s.watch.mu.Unlock()
	for _, fn := range s.clockSet { // these drop marks and other cached times
		fn()
	}
	s.Hub.wakeAnnounced("") // wakes all: claims look again, and workers find out that their sessions have ended
}
