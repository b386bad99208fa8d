package worker

import (
	"sync"
	"time"
)

// lease is how long a session may act, by this machine's monotonic clock: from
// the sending of the last renewal that was accepted, for the length of the
// lease less a margin. Counting from the sending, not the answer, keeps it
// shorter than what the broker grants. When it ends, the fence falls, for good.
type lease struct {
	length time.Duration
	fence  func()

	mu    sync.Mutex
	end   time.Time
	over  bool
	timer *time.Timer
}

// leaseMargin is the part of a session's time in which the worker stops
// everything, so that nothing runs when the broker's time is over.
const leaseMargin = 10

func newLease(sent time.Time, ttl time.Duration, fence func()) *lease {
	l := &lease{length: ttl - ttl/leaseMargin, fence: fence}
	l.end = sent.Add(l.length)
	l.timer = time.AfterFunc(time.Until(l.end), l.check)
	return l
}

// extend counts from a renewal sent at that time. It reports whether the lease
// still held: an answer that comes after the end changes nothing.
func (l *lease) extend(sent time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !time.Now().Before(l.end) {
		return false
	}
	l.end = sent.Add(l.length)
	l.timer.Reset(time.Until(l.end))
	return true
}

// holds reports whether the session may act now. It is asked beside the timer
// because a process that was stopped and goes on may get here before it.
func (l *lease) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over && time.Now().Before(l.end)
}

// check is the timer's. It may have been set off just before an extension.
func (l *lease) check() {
	l.mu.Lock()
	fell := !l.over && !time.Now().Before(l.end)
	l.over = l.over || fell
	l.mu.Unlock()
	if fell {
		l.fence()
	}
}

// stop ends the lease without the fence.
func (l *lease) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.timer.Stop()
}
