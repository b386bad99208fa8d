package base

import (
	"sync"
	"time"
)

// DueMark is an instant before which no row is due: no schedule, or no delayed job. A pass begins at the mark if a look
// everywhere is slow. It is slow when a long transaction elsewhere keeps the dead index entries of earlier passes from being
// removed, and each pass would read all of them.
//
// A row that stays due keeps the mark before it. A row can become due before the mark only in three cases: its transaction was
// not seen to have ended ([Moment.Stable]); another node saved a schedule that was due already; or a clock was set back. (A
// delayed job is due after the transaction that delays it.) For these cases, a pass looks everywhere now and then.
type DueMark struct {
	Mu        sync.Mutex
	at        int64     // every due row is due after this instant
	turn      int64     // incremented when the mark falls
	last      time.Time // newest instant of a pass
	LookAgain time.Time // by the monotonic clock
}

// dueFrom is where a pass begins.
type dueFrom struct {
	After, turn int64
	everywhere  bool
	trip, Took  time.Duration // of the round trip before the look, and of the look
}

// slowLook is the duration from which on a look everywhere is not repeated in every pass.
const slowLook = 5 * time.Millisecond

func (m *DueMark) begin(now time.Time) dueFrom {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if now.Before(m.last) { // the clock was set back: rows may become due before the mark
		m.at, m.turn = 0, m.turn+1
	}
	m.last = now
	if time.Now().After(m.LookAgain) {
		return dueFrom{turn: m.turn, everywhere: true}
	}
	return dueFrom{After: m.at, turn: m.turn}
}

// rise raises the mark after a pass that began at from. The first remaining row is due at next; 0: no row remains.
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
	if took := from.Took - 2*from.trip; from.everywhere && took >= slowLook { // a look is two queries
		m.LookAgain = time.Now().Add(LookRest(took))
	}
}

// Lower lowers the mark for a schedule that becomes due at next.
func (m *DueMark) Lower(next time.Time) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if !next.IsZero() && Micros(next) <= m.at {
		m.at, m.turn = Micros(next)-1, m.turn+1
	}
}

// Drain resets the mark.
func (m *DueMark) Drain() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.at, m.turn = 0, m.turn+1
}

// LookFrom returns where a pass of this transition begins.
func (c *Change) LookFrom(m *DueMark) dueFrom {
	from := m.begin(c.Now)
	from.trip = time.Since(c.Begun)
	return from
}

// Looked raises the mark when a pass is committed. With [Options.Clock] it does not, because such a clock has no stable instant.
func (c *Change) Looked(m *DueMark, from dueFrom, next int64) {
	if c.s.Opt.Clock == nil {
		c.After(func() { m.rise(from, next, c.Stable) })
	}
}

const lookShare = 100 // looks everywhere use at most 1/lookShare of the time

const LookLate = 5 * time.Second // the longest delay of a row before the mark, unless looks are very slow

// LookRest returns the delay between two looks everywhere, of which the first took so long. The duration excludes the round trip:
// with a distant database, marks save nothing, and its slow transactions bring more rows before the mark.
func LookRest(took time.Duration) time.Duration {
	return min(lookShare*took, max(LookLate, 10*took))
}
