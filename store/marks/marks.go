// Package marks keeps in memory what a process knows of queues between claims: the place at which a claim begins (the low-water
// mark), and whether a queue has jobs that some sessions cannot run (its lanes).
package marks

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/task"
)

// Marks keeps the low-water mark of each queue and kind of session: before it, no ready job is left that such a session could
// claim. A claim begins at the mark. So it reads neither the running jobs before it, nor dead index entries that a long
// transaction elsewhere keeps from being removed.
//
// The place of a ready job follows from the instant of its transaction, or in a fair queue from the claims that its transaction
// saw. So a job comes before the mark only in three cases: its transaction was not seen to have ended ([base.Moment.Stable]);
// a claim skipped it because another transaction had locked its row, without changing it; or a clock was set back. For these
// cases, a claim looks everywhere now and then. If that is slow, a look back runs beside the claims instead.
type Marks struct {
	mu    sync.Mutex
	marks map[Key]*Mark
	last  time.Time     // newest instant of a claim
	slow  time.Duration // from here on a look everywhere is slow: slowLook, but in tests

	off    bool // [base.Claims.NoMark]
	closed bool
	looks  sync.WaitGroup // looks beside the claims that are under way
}

// Key identifies a queue and the sessions that can run the same jobs of it.
type Key struct {
	Queue   string
	Era     int64 // where the turns of the queue begin
	session string
}

// Mark is a place in the order of claims: within one priority, the turn and id of a job. Only jobs of the same priority come
// before it.
type Mark struct {
	Priority int
	Turn     int64
	ID       int64

	lookAgain time.Time // by the monotonic clock
	took      time.Duration
	looking   bool    // a look back is under way
	Before    *Before // jobs that a look back has found, for the next claim
	Found     int     // jobs that the last claim found
	size      int     // mean bytes of their inputs
}

// Fits returns how many of n jobs a claim should look for, so that their inputs fit into its [Room] if they are as large as
// those of the last claim.
func (m Mark) Fits(n int) int {
	if m.size == 0 {
		return n
	}
	return min(n, max(1, base.MaxPage/m.size))
}

// Room is the memory that a claim has for the inputs of its jobs: a worker may want thousands, and each may be as large as
// [core.MaxInput]. Rows are read before a claim knows how many it can have, so it drops the inputs that have no room.
type Room struct {
	read int // bytes of the inputs of all rows
	rows int
}

// Takes counts the input of the next row, and reports whether there is room for it. There always is for the first, and without a
// Room.
func (r *Room) Takes(size int) bool {
	if r == nil {
		return true
	}
	r.read += size
	r.rows++
	return r.rows == 1 || r.read <= base.MaxPage
}

// Before describes the jobs before a mark: the place of the first, and their number.
type Before struct {
	Priority int
	Turn, ID int64
	Jobs     int
}

// MaxBefore is the largest number of jobs that a look back finds.
const MaxBefore = 1000

// New returns empty marks. If off is set, no claim begins at a mark.
func New(off bool) *Marks {
	return &Marks{marks: map[Key]*Mark{}, slow: slowLook, off: off}
}

const lookEvery = time.Second // shortest time between two looks

const most = 10_000 // marks, and mixtures

// slowLook is the duration of a look everywhere from which on claims no longer make it themselves. Beside a transaction that
// had been open for 45 minutes at 5,000 jobs a second, a look everywhere read 20 million dead entries, and the queue stood still
// for more than 10 seconds.
const slowLook = 50 * time.Millisecond

// KeyOf returns the key of a queue and of the sessions that can run the same jobs as w.
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

// Fitting returns how many of n jobs have room in an answer that repeats the task of each.
func Fitting(n int, of func(i int) (t task.Task, input int)) int {
	room, tasks := Room{}, map[int64]int{}
	for i := range n {
		t, input := of(i)
		size, known := tasks[t.ID]
		if !known {
			size = len(base.Text(t))
			tasks[t.ID] = size
		}
		if !room.Takes(size + input) {
			return i
		}
	}
	return n
}

// Begin returns the mark at which a claim may begin; ok is false if the claim has to look everywhere. lookBack reports that a
// look back is due.
func (l *Marks) Begin(k Key, now time.Time) (m Mark, ok, lookBack bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.last) { // the clock was set back: new jobs may come before any mark
		clear(l.marks)
	}
	l.last = now
	known := l.marks[k]
	if known == nil || l.off {
		return Mark{}, false, false
	}
	due := time.Now().After(known.lookAgain)
	return *known, !due || known.took >= l.slow, due && !known.looking
}

// Turn reports whether the caller is the one that looks back. It then has to call [Marks.Looked].
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

// Looked ends a look back. found is nil if it found no job.
func (l *Marks) Looked(k Key, found *Before, took time.Duration) {
	defer l.looks.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.marks[k]; known != nil {
		known.looking, known.Before = false, found
		known.again(took)
	}
}

// Begins reports whether a look beside the claims may begin. If so, [Marks.Close] waits for it until [Marks.Ended].
func (l *Marks) Begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.looks.Add(1)
	}
	return !l.closed
}

// Ended ends a look that began with [Marks.Begins].
func (l *Marks) Ended() { l.looks.Done() }

// Close waits for the looks that are under way. No look begins after it.
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

// Rise raises the mark after a claim. If the claim found enough jobs, no job that it could take is left before the last one it
// took. If not, none is left before the turn upTo.
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
	if known.Found = p.Found; p.Found > 0 && p.Room != nil {
		known.size = p.Room.read / p.Found
	}
	if b := p.From.Before; b != nil {
		if known.Before == b { // the mark stays; of the jobs before it, some may be left
			known.Before = b.without(p.N, last, enough)
		}
		return
	}
	if !p.Marked {
		known.again(took - p.Trip)
	}
	if last == nil { // other claims may have taken all that this one found
		return
	}
	known.Priority, known.Turn, known.ID = last.Priority, upTo, 0
	if enough && last.Turn < known.Turn {
		known.Turn, known.ID = last.Turn, last.ID
	}
}

// without returns the jobs that are left when a claim that began at b has taken up to n.
func (b *Before) without(n int, last *Mark, enough bool) *Before {
	if last == nil || !enough || n >= b.Jobs {
		return nil
	}
	return &Before{last.Priority, last.Turn, last.ID + 1, b.Jobs - n}
}

// Overdue makes a look back due for all marks, and every look too slow for a claim. It is for tests.
func (l *Marks) Overdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = math.MinInt64
	for _, m := range l.marks {
		m.lookAgain = time.Time{}
	}
}

// Looking reports whether a look back is under way.
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

// Look is the look of a claim for ready jobs of a queue.
type Look struct {
	Key    Key
	From   Mark
	Marked bool          // the claim begins at From
	N      int           // jobs wanted
	Trip   time.Duration // of the round trip to the database before the look
	Found  int           // jobs found
	Room   *Room         // of the claim, or nil
}
