package store

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry"
)

// lowWater remembers for each queue, and for each kind of session, before which
// place no ready job is left that it could claim. A claim begins there: it
// steps neither over the jobs that run, nor over the dead index entries that a
// long transaction elsewhere keeps from being removed.
//
// A job that becomes ready gets a place by the instant of its transaction, so
// it can only come before the mark when that transaction was not seen to have
// ended ([Moment.Stable]), when it was stepped over because somebody held its
// row and let go of it again, or when a clock was set back. For these, a claim
// looks everywhere now and then.
type lowWater struct {
	mu    sync.Mutex
	marks map[waterKey]*mark
	last  time.Time // newest instant of a claim
}

type waterKey struct{ queue, session string }

// mark is a place in the order of claims: within one priority, since when a job
// is ready, and its id. Before it are only those of the same priority.
type mark struct {
	priority int
	readyAt  int64
	id       int64

	lookAgain time.Time // by the monotonic clock
}

func newLowWater() *lowWater { return &lowWater{marks: map[waterKey]*mark{}} }

// How often a claim looks everywhere.
const (
	lookEvery = time.Second // at most
	lookShare = 50          // and no more than one part in so many of the time
	maxMarks  = 10_000
)

// waterKeyOf is one for sessions that can run the same jobs.
func waterKeyOf(w belfry.WorkerState, queue string) waterKey {
	var s strings.Builder
	s.WriteString(w.Namespace)
	for _, k := range w.Kinds {
		s.WriteString("\x00" + string(k))
	}
	s.WriteByte(0)
	for _, f := range w.Funcs {
		s.WriteString("\x00" + f)
	}
	return waterKey{queue, s.String()}
}

// begin is where a claim may begin, if it need not look everywhere.
func (l *lowWater) begin(k waterKey, now time.Time) (m mark, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.last) { // the clock was set back: what comes now may come before any mark
		clear(l.marks)
	}
	l.last = now
	known := l.marks[k]
	if known == nil || time.Now().After(known.lookAgain) {
		return mark{}, false
	}
	return *known, true
}

// rise notes what a claim has seen that began at m, or everywhere: nothing that
// it could take is left before the last job it took, or at all if it wanted
// more. It took the time it took.
func (l *lowWater) rise(k waterKey, everywhere bool, found []jobRow, wanted int, stable time.Time, took time.Duration) {
	next := mark{readyAt: micros(stable)}
	if len(found) > 0 {
		last := found[len(found)-1]
		next.priority = last.Priority
		if len(found) == wanted && last.readyAt < next.readyAt {
			next.readyAt, next.id = last.readyAt, last.ID
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.marks[k]
	switch {
	case known == nil && len(l.marks) >= maxMarks:
		return
	case known == nil:
		known = &mark{}
		l.marks[k] = known
	case len(found) == 0:
		next.priority = known.priority
	}
	next.lookAgain = known.lookAgain
	if everywhere {
		next.lookAgain = time.Now().Add(max(lookEvery, lookShare*took))
	}
	*known = next
}

// drain forgets all marks.
func (l *lowWater) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.marks)
}

// pick locks up to n ready jobs of a queue that the session can run, the
// highest priority first and in it the longest ready.
func (c *change) pick(w belfry.WorkerState, q belfry.Queue, n int) ([]jobRow, error) {
	if n <= 0 {
		return nil, nil
	}
	cond := &where{}
	cond.and("queue = ?", q.Name)
	cond.namespace("namespace", w.Namespace)
	cond.conds = append(cond.conds, runnable(w))
	if slices.Contains(w.Kinds, belfry.KindFunc) {
		cond.and(`(kind <> 'func' or `+c.sql.In("task", len(cond.args)+1)+`)`, c.sql.List(w.Funcs))
	}
	key, begun := waterKeyOf(w, q.Name), time.Now()
	from, marked := c.s.water.begin(key, c.now)
	rows, err := c.walk(cond, from, marked, n)
	if err != nil {
		return nil, err
	}
	took := time.Since(begun)
	c.after(func() { c.s.water.rise(key, !marked, rows, n, c.stable, took) })
	return rows, nil
}

// walk goes through the index of ready jobs: everywhere, or from a mark. The
// look for a lease is written as a value, because that can only be planned as a
// look-up by key.
func (c *change) walk(cond *where, from mark, marked bool, n int) ([]jobRow, error) {
	args := func(own ...any) []any { return append(slices.Clone(cond.args), own...) }
	next := len(cond.args) + 1
	part := func(more, limit string) string {
		return selectReady + `
			where state = 'ready' and (select number from leases where job_id = id) is null and ` + cond.sql() + more + `
			order by priority desc, ready_at, id
			limit ` + limit + ` + 0` + c.sql.SkipLocked("jobs") // a sum, because SQLite plans anew for each value of a bare one
	}
	p, p1, p2, p3 := placeholder(next), placeholder(next+1), placeholder(next+2), placeholder(next+3)
	if !marked {
		return collect(c.ctx, c.tx, scanReady, part("", p), args(n)...)
	}
	higher, same, lower := ` and priority > `+p1, ` and priority = `+p1+` and (ready_at, id) > (`+p2+`, `+p3+`)`, ` and priority < `+p1
	if c.sql.Remote() {
		return collect(c.ctx, c.tx, scanReady, `
			with higher as materialized (`+part(higher, p)+`),
			same as materialized (`+part(same, p+` - (select count(*) from higher)`)+`),
			lower as materialized (`+part(lower, p+` - (select count(*) from higher) - (select count(*) from same)`)+`)
			select * from higher union all select * from same union all select * from lower`, args(n, from.priority, from.readyAt, from.id)...)
	}
	rows, err := collect(c.ctx, c.tx, scanReady, part(higher, p), args(n, from.priority)...)
	if err == nil && len(rows) < n {
		rows, err = appendRows(rows, c, part(same, p), args(n-len(rows), from.priority, from.readyAt, from.id))
	}
	if err == nil && len(rows) < n {
		rows, err = appendRows(rows, c, part(lower, p), args(n-len(rows), from.priority))
	}
	return rows, err
}

func appendRows(rows []jobRow, c *change, query string, args []any) ([]jobRow, error) {
	more, err := collect(c.ctx, c.tx, scanReady, query, args...)
	return append(rows, more...), err
}
