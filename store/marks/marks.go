// Package marks is what a process remembers of queues from one claim to the next: where to begin, and whether a queue has jobs
// that its sessions cannot run.
package marks

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// Marks remembers for each queue, and for each kind of session, before which
// place no ready job is left that it could claim. A claim begins there: it
// steps neither over the jobs that run, nor over the dead index entries that a
// long transaction elsewhere keeps from being removed.
//
// A job that becomes ready gets a place by the instant of its transaction, or in
// a fair queue behind what its transaction saw claimed. So it can only come before
// the mark when that transaction was not seen to have
// ended ([base.Moment.Stable]), when it was stepped over because a transaction held its
// row and let go of it again, or when a clock was set back. For these, a claim
// looks everywhere now and then, and where that is dear a look back is made apart
// meanwhile.
type Marks struct {
	mu    sync.Mutex
	marks map[Key]*Mark
	last  time.Time     // newest instant of a claim
	dear  time.Duration // slowLook, but in tests

	off    bool // [base.Claims.NoMark]
	closed bool
	looks  sync.WaitGroup // back, under way
}

// Key is one for a queue and sessions that can run the same jobs.
type Key struct {
	Queue   string
	Era     int64 // where its turns begin
	session string
}

// Mark is a place in the order of claims: within one priority, the turn of a job
// and its id. Before it are only those of the same priority.
type Mark struct {
	Priority int
	Turn     int64
	ID       int64

	lookAgain time.Time // by the monotonic clock
	took      time.Duration
	looking   bool    // back, just now
	Before    *Before // what a look back has found, for the next claim
	Found     int     // by the last claim
}

// Before are jobs before a mark: the place of the first, and how many there are.
type Before struct {
	Priority int
	Turn, ID int64
	Jobs     int
}

// MaxBefore is how many jobs a look back finds.
const MaxBefore = 1000

// New are marks of a store that has just begun; off, there never are any.
func New(off bool) *Marks {
	return &Marks{marks: map[Key]*Mark{}, dear: slowLook, off: off}
}

const lookEvery = time.Second // at most

const most = 10_000

// slowLook is what no claim is held up for. Beside a transaction that had been
// open for three quarters of an hour at 5,000 jobs a second, a look everywhere stepped over 20
// million dead entries, and a queue stood still for more than 10 seconds.
const slowLook = 50 * time.Millisecond

// KeyOf is one for sessions that can run the same jobs.
func KeyOf(w job.WorkerState, met []int64, queue string, era int64) Key {
	var s strings.Builder
	s.WriteString(w.Namespace)
	for _, k := range w.Kinds {
		s.WriteString("\x00" + string(k))
	}
	s.WriteByte(0)
	for _, f := range w.Funcs {
		s.WriteString("\x00" + f)
	}
	for _, id := range met {
		s.WriteString("\x00" + strconv.FormatInt(id, 10))
	}
	return Key{queue, era, s.String()}
}

// Begin is where a claim may begin, if it need not look everywhere, and whether
// a look back is due.
func (l *Marks) Begin(k Key, now time.Time) (m Mark, ok, lookBack bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.last) { // the clock was set back: what comes now may come before any mark
		clear(l.marks)
	}
	l.last = now
	known := l.marks[k]
	if known == nil || l.off {
		return Mark{}, false, false
	}
	due := time.Now().After(known.lookAgain)
	return *known, !due || known.took >= l.dear, due && !known.looking
}

// Turn reports that it is the caller who looks back.
func (l *Marks) Turn(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.marks[k]
	if known == nil || known.looking || l.closed {
		return false
	}
	known.looking = true
	l.looks.Add(1)
	return true
}

// Looked is the end of that, and what was found, if anything.
func (l *Marks) Looked(k Key, found *Before, took time.Duration) {
	defer l.looks.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.marks[k]; known != nil {
		known.looking, known.Before = false, found
		known.again(took)
	}
}

// Begins reports that a look may begin beside the claims, which [Marks.Close]
// waits for until it has [Marks.Ended].
func (l *Marks) Begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.looks.Add(1)
	}
	return !l.closed
}

// Ended is the end of a look that did [Marks.Begins].
func (l *Marks) Ended() { l.looks.Done() }

// Close waits for looks back, and has none begun any more.
func (l *Marks) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.looks.Wait()
}

// again sets when the next look is due.
func (m *Mark) again(took time.Duration) {
	m.took, m.lookAgain = took, time.Now().Add(max(lookEvery, base.LookRest(took)))
}

// Rise notes what a claim has seen: nothing that it could take is left before
// the last job it took, or at all before a turn if it had not found enough.
func (l *Marks) Rise(p Look, last *Mark, enough bool, upTo int64, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.marks[p.Key]
	if known == nil {
		if len(l.marks) >= most {
			return
		}
		known = &Mark{}
		l.marks[p.Key] = known
	}
	known.Found = p.Found
	if b := p.From.Before; b != nil {
		if known.Before == b { // the mark stays: from here on there is nothing but what was found
			known.Before = b.without(p.N, last, enough)
		}
		return
	}
	if !p.Marked {
		known.again(took - p.Trip)
	}
	if last == nil { // perhaps others were faster with all that it found
		return
	}
	known.Priority, known.Turn, known.ID = last.Priority, upTo, 0
	if enough && last.Turn < known.Turn {
		known.Turn, known.ID = last.Turn, last.ID
	}
}

// without is what is left when a claim that began there has taken up to n.
func (b *Before) without(n int, last *Mark, enough bool) *Before {
	if last == nil || !enough || n >= b.Jobs {
		return nil
	}
	return &Before{last.Priority, last.Turn, last.ID + 1, b.Jobs - n}
}

// Overdue makes a look back due for all, and each too dear for a claim.
func (l *Marks) Overdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dear = math.MinInt64
	for _, m := range l.marks {
		m.lookAgain = time.Time{}
	}
}

// Looking reports that a look back is under way.
func (l *Marks) Looking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.marks {
		if m.looking {
			return true
		}
	}
	return false
}

// Drain forgets all marks.
func (l *Marks) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.marks)
}

// Look is how a claim looks for ready jobs of a queue, and how many it has found.
type Look struct {
	Key    Key
	From   Mark
	Marked bool          // it begins there
	N      int           // it wants
	Trip   time.Duration // to the database, before it looks
	Found  int
}
