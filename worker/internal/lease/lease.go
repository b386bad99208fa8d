package lease

import (
	"sync"
	"time"
)

// Lease is how long a session may act, by this machine's monotonic clock: from
// the sending of the last renewal that was accepted. Counting from the sending,
// not the answer, keeps it shorter than what the broker grants.
//
// It ends in two steps, both for good. First what runs is asked to stop; then
// the fence falls, and it is killed. Of a session of 30 s, 22 are for work and 5
// for stopping, and 3 are left for a machine that is slow to kill.
type Lease struct {
	ttl   time.Duration
	warn  func() // what runs has to stop
	fence func() // and has to be gone

	mu      sync.Mutex
	sent    time.Time
	renewed chan struct{} // closed by the next extension
	over    bool
	fallen  bool
	timer   *time.Timer
}

// The parts of a session's time, in thirtieths.
const (
	workPart = 22
	stopPart = 27
	allParts = 30
)

func New(sent time.Time, ttl time.Duration, warn, fence func()) *Lease {
	l := &Lease{ttl: ttl, warn: warn, fence: fence, sent: sent, renewed: make(chan struct{})}
	l.mu.Lock() // the timer may go off before it is written down, when the answer took so long
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(time.Until(l.at(workPart)), l.Check)
	return l
}

// at is when a part of the session's time has passed.
func (l *Lease) at(part time.Duration) time.Time { return l.sent.Add(l.ttl * part / allParts) }

// Extend counts from a renewal sent at that time. It reports whether the lease
// still held: an answer that comes after the end changes nothing.
func (l *Lease) Extend(sent time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !time.Now().Before(l.at(workPart)) {
		return false
	}
	l.sent = sent
	close(l.renewed)
	l.renewed = make(chan struct{})
	l.timer.Reset(time.Until(l.at(workPart)))
	return true
}

// Until is when what runs has to be gone, unless the lease is extended, which closes the channel.
func (l *Lease) Until() (end time.Time, renewed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at(stopPart), l.renewed
}

// Holds reports whether the session may act now. It is asked beside the timer
// because a process that was stopped and goes on may get here before it.
func (l *Lease) Holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over && time.Now().Before(l.at(workPart))
}

// Ended reports that work had to stop for want of a renewal.
func (l *Lease) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Check is the timer's. It may have been set off just before an extension.
func (l *Lease) Check() {
	l.mu.Lock()
	now := time.Now()
	warn := !l.over && !now.Before(l.at(workPart))
	l.over = l.over || warn
	falls := l.over && !l.fallen && !now.Before(l.at(stopPart))
	l.fallen = l.fallen || falls
	if l.over && !l.fallen {
		l.timer.Reset(time.Until(l.at(stopPart)))
	}
	l.mu.Unlock()
	if warn {
		l.warn()
	}
	if falls {
		l.fence()
	}
}

// Stop ends the lease without the fence.
func (l *Lease) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.fallen = true, true
	l.timer.Stop()
}
