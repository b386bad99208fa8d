package store

import (
	"sync"
	"time"
)

// dueMark remembers up to which instant nothing is due any more: no schedule, or
// no delayed job. A pass begins there when it is dear to look everywhere: when a long transaction
// elsewhere keeps the dead index entries of the passes before from being
// removed, and each pass would step over all of them.
//
// What stays due is seen and holds the mark. What becomes due before the mark
// can only come from a transaction that was not seen to have ended
// ([Moment.Stable]), from another node that saved a schedule which was due
// already, or when a clock was set back; a job that has to wait is due after the
// transaction that says so. For these, a pass looks everywhere now and then all
// the same.
type dueMark struct {
	mu        sync.Mutex
	at        int64     // all that is due is so after this instant
	turn      int64     // grows when the mark falls
	last      time.Time // newest instant of a pass
	lookAgain time.Time // by the monotonic clock
}

// dueFrom is where a pass begins.
type dueFrom struct {
	after, turn int64
	everywhere  bool
	trip, took  time.Duration // to the database before the look, and to look
}

// dearLook is a look everywhere that is not repeated in every pass.
const dearLook = 5 * time.Millisecond

func (m *dueMark) begin(now time.Time) dueFrom {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.last) { // the clock was set back: what becomes due now may be so before the mark
		m.at, m.turn = 0, m.turn+1
	}
	m.last = now
	if time.Now().After(m.lookAgain) {
		return dueFrom{turn: m.turn, everywhere: true}
	}
	return dueFrom{after: m.at, turn: m.turn}
}

// rise notes what a pass has seen that began at from: the first that is left is
// due at next, or nothing is.
func (m *dueMark) rise(from dueFrom, next int64, stable time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if from.turn != m.turn {
		return
	}
	at := micros(stable) - 1
	if next > 0 {
		at = min(at, next-1)
	}
	m.at = max(at, from.after)
	if dear := from.took - 2*from.trip; from.everywhere && dear >= dearLook { // a look is two questions
		m.lookAgain = time.Now().Add(lookRest(dear))
	}
}

// lower notes a schedule that becomes due at next.
func (m *dueMark) lower(next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !next.IsZero() && micros(next) <= m.at {
		m.at, m.turn = micros(next)-1, m.turn+1
	}
}

// drain forgets the mark.
func (m *dueMark) drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.turn = 0, m.turn+1
}

// lookFrom is where a pass of this transition begins.
func (c *change) lookFrom(m *dueMark) dueFrom {
	from := m.begin(c.now)
	from.trip = time.Since(c.begun)
	return from
}

// looked notes what a pass has seen once it is committed. A clock that others
// set says nothing about what is stable.
func (c *change) looked(m *dueMark, from dueFrom, next int64) {
	if c.s.opt.Clock == nil {
		c.after(func() { m.rise(from, next, c.stable) })
	}
}

// wakeAt tells engines that a schedule is due at an instant.
func (c *change) wakeAt(next time.Time) {
	c.wake(topicEngine)
	c.after(func() { c.s.due.lower(next) })
}
