package store

import (
	"slices"
	"strconv"
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
	lookEvery = time.Second     // at most
	lookShare = 100             // and no more than one part in so many of the time,
	lookLate  = 5 * time.Second // unless what is before the mark would wait for longer
	maxMarks  = 10_000
)

// lookRest is how long no look everywhere follows one that was so dear. The way
// to the database is no part of that: where it is far, marks spare nothing, and
// transactions take so long that more than usual comes before the mark.
func lookRest(dear time.Duration) time.Duration {
	return min(lookShare*dear, max(lookLate, 10*dear))
}

// waterKeyOf is one for sessions that can run the same jobs.
func waterKeyOf(w belfry.WorkerState, met []int64, queue string) waterKey {
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

// rise notes what a claim has seen: nothing that it could take is left before
// the last job it took, or at all if it had not found enough.
func (l *lowWater) rise(p picking, last *mark, enough bool, stable time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.marks[p.key]
	if known == nil {
		if len(l.marks) >= maxMarks {
			return
		}
		known = &mark{}
		l.marks[p.key] = known
	}
	if !p.marked {
		known.lookAgain = time.Now().Add(max(lookEvery, lookRest(took-p.trip)))
	}
	if last == nil { // perhaps others were faster with all that it found
		return
	}
	known.priority, known.readyAt, known.id = last.priority, micros(stable), 0
	if enough && last.readyAt < known.readyAt {
		known.readyAt, known.id = last.readyAt, last.id
	}
}

// drain forgets all marks.
func (l *lowWater) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.marks)
}

// picking is how a session looks for ready jobs of a queue: the highest priority
// first and in it the longest ready.
type picking struct {
	cond   *where
	n      int
	key    waterKey
	from   mark
	marked bool
	// hopeful does not look for the leases of what comes behind the mark, if that is
	// the place of the last job that was claimed: as good as none of these jobs has
	// one. What is picked is looked at again. Few jobs may all be claimed by others
	// and not in packs, so a small claim leaves out no more than the packs. A mark that
	// lags behind the last claim, because of a transaction that stays open, has leased
	// jobs behind it.
	hopeful bool
	begun   time.Time
	trip    time.Duration // to the database, before it looks
}

func (c *change) picking(w belfry.WorkerState, met []int64, q belfry.Queue, n int) picking {
	cond := c.runnableBy(w, met)
	cond.and("queue = ?", q.Name)
	p := picking{cond: cond, n: n, key: waterKeyOf(w, met, q.Name), begun: time.Now(), trip: time.Since(c.begun)}
	p.from, p.marked = c.s.water.begin(p.key, c.now)
	p.hopeful = p.marked && p.from.id > 0
	return p
}

// runnableBy is the condition that a session can run a job.
func (c *change) runnableBy(w belfry.WorkerState, met []int64) *where {
	cond := &where{}
	cond.namespace("namespace", w.Namespace)
	cond.conds = append(cond.conds, runnable(w))
	switch {
	case !slices.Contains(w.Kinds, belfry.KindFunc):
	case len(w.Funcs) == 1: // a list is unpacked by each statement anew
		cond.and(`(kind <> 'func' or task = ?)`, w.Funcs[0])
	default:
		cond.and(`(kind <> 'func' or `+c.sql.In("task", len(cond.args)+1)+`)`, c.sql.List(w.Funcs))
	}
	c.meets(cond, met)
	return cond
}

// picked notes how far the look went, and whether it ended because it had found
// enough.
func (c *change) picked(p picking, rows []jobRow, enough bool) {
	took := time.Since(p.begun)
	var last *mark
	if n := len(rows); n > 0 {
		last = &mark{priority: rows[n-1].Priority, readyAt: rows[n-1].readyAt, id: rows[n-1].ID}
	}
	c.after(func() { c.s.water.rise(p, last, enough, c.stable, took) })
}

// part is a walk through the index of ready jobs.
func (c *change) part(columns string, p picking, unleased, more, limit string) string {
	return columns + `
		where state = 'ready' and ` + unleased + ` and ` + p.cond.sql() + more + `
		order by priority desc, ready_at, id
		limit ` + limit + ` + 0` + c.sql.SkipLocked("jobs") // a sum, because SQLite plans anew for each value of a bare one
}

// ranges are the conditions on what is before, at and after the priority of the
// mark. Their parameters are numbered from n: priority, ready_at, id.
func ranges(n int) (higher, same, lower string) {
	priority := placeholder(n)
	return ` and priority > ` + priority, ` and priority = ` + priority + ` and (ready_at, id) > (` + placeholder(n+1) + `, ` + placeholder(n+2) + `)`, ` and priority < ` + priority
}

// walk locks the jobs, one statement after the other. What it finds goes behind
// rows.
func (c *change) walk(p picking, queue string, rows []jobRow) (_ []jobRow, err error) {
	next, before := len(p.cond.args)+1, len(rows)
	unleased := c.s.unleased()
	look := func(more string, own ...any) {
		left := p.n - (len(rows) - before)
		if err != nil || left <= 0 {
			return
		}
		args := append(append(slices.Clone(p.cond.args), left), own...)
		rows, err = c.pick(queue, rows, func(columns string) string { return c.part(columns, p, unleased, more, placeholder(next)) }, args)
	}
	if !p.marked {
		look("")
		return rows, err
	}
	higher, same, lower := ranges(next + 1)
	look(higher, p.from.priority)
	look(same, p.from.priority, p.from.readyAt, p.from.id)
	look(lower, p.from.priority)
	return rows, err
}

// parts are the same for one statement, with its parameters, of jobs that may be
// like another.
func (c *change) parts(p picking, like *jobRow) (parts []Part, args []any) {
	next := len(p.cond.args) + 1
	limit := placeholder(next)
	args = append(slices.Clone(p.cond.args), p.n)
	if p.marked {
		args = append(args, p.from.priority, p.from.readyAt, p.from.id)
	} else {
		args = append(args, micros(c.now))
	}
	columns := selectReady
	if like != nil {
		columns, args = selectLike(like, args)
	}
	if !p.marked {
		// What was claimed just now is most of what it steps over. To look for each of
		// these in its pack took 30 us, and 40 ms for a claim of a thousand.
		recent := c.sql.UnpackedSince("id", placeholder(next+1))
		return []Part{{"everywhere", c.part(columns, p, c.s.unleased()+recent, "", limit)}}, args
	}
	higher, same, lower := ranges(next + 1)
	unleased := ownLeaseless
	switch {
	case !p.hopeful: // what is ready since the mark cannot have been claimed before it
		unleased += c.sql.UnpackedSince("id", placeholder(next+2))
	case p.n >= c.s.opt.PackFrom: // the few that somebody else claimed apart are left out by the second look, all together
		unleased = "true"
	}
	return []Part{
		{"higher", c.part(columns, p, c.s.unleased(), higher, limit)},
		{"same", c.part(columns, p, unleased, same, limit+` - (select count(*) from higher)`)},
		{"lower", c.part(columns, p, c.s.unleased(), lower, limit+` - (select count(*) from higher) - (select count(*) from same)`)},
	}, args
}
