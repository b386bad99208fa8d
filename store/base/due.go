package base

import (
	"sync"
	"time"
)

// DueMark remembers up to which instant nothing is due any more: no schedule, or
// no delayed job. A pass begins there when it is dear to look everywhere: when a long transaction
// elsewhere keeps the dead index entries of the passes before from being
// removed, and each pass would step over all of them.
//
// A row that stays due is seen and holds the mark. A row that becomes due before the mark
// can only come from a transaction that was not seen to have ended
// ([Moment.Stable]), from another node that saved a schedule which was due
// already, or when a clock was set back; a job that has to wait is due after the
// transaction that says so. For these, a pass looks everywhere now and then all
// the same.
type DueMark struct {
	Mu        sync.Mutex
	at        int64     // all that is due is so after this instant
	turn      int64     // grows when the mark falls
	last      time.Time // newest instant of a pass
	LookAgain time.Time // by the monotonic clock
}

// dueFrom is where a pass begins.
type dueFrom struct {
	After, turn int64
	everywhere  bool
	trip, Took  time.Duration // to the database before the look, and to look
}

// dearLook is a look everywhere that is not repeated in every pass.
const dearLook = 5 * time.Millisecond

func (m *DueMark) begin(now time.Time) dueFrom {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if now.Before(m.last) { // the clock was set back: what becomes due now may be so before the mark
		m.at, m.turn = 0, m.turn+1
	}
	m.last = now
	if time.Now().After(m.LookAgain) {
		return dueFrom{turn: m.turn, everywhere: true}
	}
	return dueFrom{After: m.at, turn: m.turn}
}

// rise notes what a pass has seen that began at from: the first that is left is
// due at next, or nothing is.
func (m *DueMark) rise(from dueFrom, next int64, stable time.Time) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if from.turn != m.turn {
		return
	}
	at := Micros(stable) - 1
	if next > 0 {
		at = min(at, next-1)
	}
	m.at = max(at, from.After)
	if dear := from.Took - 2*from.trip; from.everywhere && dear >= dearLook { // a look is two questions
		m.LookAgain = time.Now().Add(LookRest(dear))
	}
}

// Lower notes a schedule that becomes due at next.
func (m *DueMark) Lower(next time.Time) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if !next.IsZero() && Micros(next) <= m.at {
		m.at, m.turn = Micros(next)-1, m.turn+1
	}
}

// Drain forgets the mark.
func (m *DueMark) Drain() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.at, m.turn = 0, m.turn+1
}

// LookFrom is where a pass of this transition begins.
func (c *Change) LookFrom(m *DueMark) dueFrom {
	from := m.begin(c.Now)
	from.trip = time.Since(c.Begun)
	return from
}

// Looked notes what a pass has seen once it is committed. A clock that others
// set says nothing about what is stable.
func (c *Change) Looked(m *DueMark, from dueFrom, next int64) {
	if c.s.Opt.Clock == nil {
		c.After(func() { m.rise(from, next, c.Stable) })
	}
}

const lookShare = 100 // and no more than one part in so many of the time,

const LookLate = 5 * time.Second // unless what is before the mark would wait for longer

// LookRest is how long no look everywhere follows one that was so dear. The way
// to the database is no part of that: where it is far, marks spare nothing, and
// transactions take so long that more than usual comes before the mark.
func LookRest(dear time.Duration) time.Duration {
	return min(lookShare*dear, max(LookLate, 10*dear))
}
