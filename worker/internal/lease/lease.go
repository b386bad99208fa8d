package lease

import (
	"sync"
	"time"
)

// Lease is the time in which a session may act. It counts by this machine's
// monotonic clock from the sending of the last accepted renewal. Counting from
// the sending, not the answer, keeps it shorter than the server's lease.
//
// It ends in two final steps. First the attempts are asked to stop; then the
// fence falls and they are killed. Of a session of 30 s, 22 s are for work, 5 s
// for stopping, and 3 s are left for a machine that is slow to kill.
type Lease struct {
	ttl   time.Duration
	warn  func() // asks attempts to stop
	fence func() // kills attempts

	mu      sync.Mutex
	sent    time.Time
	renewed chan struct{} // closed by the next extension
	over    bool
	fallen  bool
	timer   *time.Timer
}

// The parts of a session's time, in thirtieths of it.
const (
	workPart = 22
	stopPart = 27
	allParts = 30
)

// New starts a lease of length ttl from sent. At its steps it calls warn and fence, each at most once.
func New(sent time.Time, ttl time.Duration, warn, fence func()) *Lease {
	l := &Lease{ttl: ttl, warn: warn, fence: fence, sent: sent, renewed: make(chan struct{})}
	l.mu.Lock() // the timer may fire before it is assigned, if the answer took long
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(time.Until(l.at(workPart)), l.Check)
	return l
}

// at returns when that part of the session's time has passed.
func (l *Lease) at(part time.Duration) time.Time { return l.sent.Add(l.ttl * part / allParts) }

// Extend restarts the lease from a renewal sent at that time. It reports whether
// the lease still held: an answer after the end changes nothing.
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

// Until returns the time of the fence, and a channel that is closed when the lease is extended.
func (l *Lease) Until() (end time.Time, renewed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at(stopPart), l.renewed
}

// Holds reports whether the session may act now, and takes the steps that are due.
// The timer alone is not enough: a suspended process that continues may act before
// its timer fires. Without a session (nil), it always may.
func (l *Lease) Holds() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	holds := !l.over && time.Now().Before(l.at(workPart))
	l.mu.Unlock()
	if !holds {
		l.Check()
	}
	return holds
}

// Ended reports whether attempts had to stop because no renewal was accepted.
func (l *Lease) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Check takes the steps that are due. The timer calls it, and may have fired just before an extension.
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
