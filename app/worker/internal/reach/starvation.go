package reach

import (
	"sync"
	"sync/atomic"
	"time"
)

// starvation notices a process that is starved of CPU time. During a measurement, one
// goroutine wakes repeatedly. If it wakes late, so did all others, and a latency
// of that time is not the target's.
type starvation struct {
	mu    sync.Mutex
	users int
	stop  chan struct{}
	since time.Time // when the first measurement began

	lastWake atomic.Int64 // time of the last wake-up, in ns after since
	lastLate atomic.Int64 // time of the last late wake-up; 0: never
}

const (
	wakeEvery = 10 * time.Millisecond
	wakeLate  = 20 * time.Millisecond // delay from which the process counts as starved
)

// watch begins a measurement. The returned function ends it, and calls starved
// if the process was starved meanwhile.
func (s *starvation) watch(began time.Time, starved func()) (done func()) {
	s.mu.Lock()
	if s.users++; s.users == 1 {
		if s.since.IsZero() {
			s.since = time.Now()
		}
		s.stop = make(chan struct{})
		s.lastWake.Store(int64(time.Since(s.since)))
		go s.run(s.stop, s.since)
	}
	since := s.since
	s.mu.Unlock()
	return func() {
		last, late := s.lastWake.Load(), s.lastLate.Load()
		if late != 0 && late >= int64(began.Sub(since)) || int64(time.Since(since))-last > int64(wakeEvery+wakeLate) {
			starved()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			close(s.stop)
		}
	}
}

func (s *starvation) run(stop chan struct{}, since time.Time) {
	tick := time.NewTicker(wakeEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.note(int64(time.Since(since)))
		}
	}
}

func (s *starvation) note(now int64) {
	if now-s.lastWake.Swap(now) > int64(wakeEvery+wakeLate) {
		s.lastLate.Store(now)
	}
}
