package jobs

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// lowWater remembers for each queue, and for each kind of session, before which
// place no ready job is left that it could claim. A claim begins there: it
// steps neither over the jobs that run, nor over the dead index entries that a
// long transaction elsewhere keeps from being removed.
//
// A job that becomes ready gets a place by the instant of its transaction, so
// it can only come before the mark when that transaction was not seen to have
// ended ([base.Moment.Stable]), when it was stepped over because somebody held its
// row and let go of it again, or when a clock was set back. For these, a claim
// looks everywhere now and then, and where that is dear somebody else looks back
// meanwhile.
type lowWater struct {
	mu    sync.Mutex
	marks map[waterKey]*mark
	last  time.Time     // newest instant of a claim
	dear  time.Duration // slowLook, but in tests

	off    bool // [base.Claims.NoMark]
	closed bool
	looks  sync.WaitGroup // back, under way
}

type waterKey struct{ queue, session string }

// mark is a place in the order of claims: within one priority, since when a job
// is ready, and its id. Before it are only those of the same priority.
type mark struct {
	priority int
	readyAt  int64
	id       int64

	lookAgain time.Time // by the monotonic clock
	took      time.Duration
	looking   bool    // back, just now
	before    *before // what a look back has found, for the next claim
	found     int     // by the last claim
}

// before are jobs before a mark: the place of the first, and how many there are.
type before struct {
	priority    int
	readyAt, id int64
	jobs        int
}

// maxBefore is how many jobs a look back finds.
const maxBefore = 1000

func newLowWater(off bool) *lowWater {
	return &lowWater{marks: map[waterKey]*mark{}, dear: slowLook, off: off}
}

const lookEvery = time.Second // at most

const maxMarks = 10_000

// slowLook is what no claim is held up for. Beside a transaction that had been
// open for three quarters of an hour at 5,000 jobs a second, a look everywhere stepped over 20
// million dead entries, and a queue stood still for more than 10 seconds.
const slowLook = 50 * time.Millisecond

// waterKeyOf is one for sessions that can run the same jobs.
func waterKeyOf(w job.WorkerState, met []int64, queue string) waterKey {
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

// begin is where a claim may begin, if it need not look everywhere, and whether
// somebody is to look back.
func (l *lowWater) begin(k waterKey, now time.Time) (m mark, ok, lookBack bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.last) { // the clock was set back: what comes now may come before any mark
		clear(l.marks)
	}
	l.last = now
	known := l.marks[k]
	if known == nil || l.off {
		return mark{}, false, false
	}
	due := time.Now().After(known.lookAgain)
	return *known, !due || known.took >= l.dear, due && !known.looking
}

// look reports that it is the caller who looks back.
func (l *lowWater) look(k waterKey) bool {
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

// looked is the end of that, and what was found, if anything.
func (l *lowWater) looked(k waterKey, found *before, took time.Duration) {
	defer l.looks.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.marks[k]; known != nil {
		known.looking, known.before = false, found
		known.again(took)
	}
}

// begins reports that a look may begin beside the claims, which [lowWater.close]
// waits for.
func (l *lowWater) begins() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.looks.Add(1)
	}
	return !l.closed
}

// close waits for looks back, and has none begun any more.
func (l *lowWater) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.looks.Wait()
}

// again sets when the next look is due.
func (m *mark) again(took time.Duration) {
	m.took, m.lookAgain = took, time.Now().Add(max(lookEvery, base.LookRest(took)))
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
	known.found = p.found
	if b := p.from.before; b != nil {
		if known.before == b { // the mark stays: from here on there is nothing but what was found
			known.before = b.without(p.n, last, enough)
		}
		return
	}
	if !p.marked {
		known.again(took - p.trip)
	}
	if last == nil { // perhaps others were faster with all that it found
		return
	}
	known.priority, known.readyAt, known.id = last.priority, base.Micros(stable), 0
	if enough && last.readyAt < known.readyAt {
		known.readyAt, known.id = last.readyAt, last.id
	}
}

// without is what is left when a claim that began there has taken up to n.
func (b *before) without(n int, last *mark, enough bool) *before {
	if last == nil || !enough || n >= b.jobs {
		return nil
	}
	return &before{last.priority, last.readyAt, last.id + 1, b.jobs - n}
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
	cond   *base.Where
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
	// lanes are conditions to walk under one by one in place of cond, in the order
	// of all; none: cond.
	lanes []string
	found int // in the end
}

// room is for about as many rows as the last claim has found.
func (p picking) room() []JobRow {
	return make([]JobRow, 0, min(p.n, p.from.found+p.from.found/8))
}

// picking is how the claim looks for n jobs of a queue. Not some: it can run none of what is ready there.
func (c *claim) picking(q job.Queue, n int) (p picking, some bool, err error) {
	p = picking{cond: c.runnable(), n: n, key: waterKeyOf(c.w, c.met, q.Name), begun: time.Now(), trip: time.Since(c.Begun)}
	p.cond.And("queue = ?", q.Name)
	var lookBack bool
	p.from, p.marked, lookBack = c.s.water.begin(p.key, c.Now)
	if b := p.from.before; b != nil { // and no further: behind them may be a million dead entries up to the mark
		p.from.priority, p.from.readyAt, p.from.id, p.n = b.priority, b.readyAt, b.id-1, min(p.n, b.jobs)
		lookBack = false
	} else {
		p.hopeful = p.marked && p.from.id > 0
	}
	if some, err = c.narrow(&p); err != nil || !some || !lookBack || !p.marked {
		return p, some, err
	}
	if len(p.lanes) > 0 { // which is no dearer than a look back
		p.marked, p.hopeful = false, false
	} else {
		c.After(func() { c.s.lookBack(p) })
	}
	return p, true, nil
}

// lookBack finds jobs before a mark that a claim could take, beside the claims. It
// locks nothing: whether they can be had is for the claim to say.
func (s *Store) lookBack(p picking) {
	if !s.water.look(p.key) {
		return
	}
	go func() {
		begun := time.Now()
		found, err := s.beforeMark(p)
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Warn("look back for jobs failed, trying again", "queue", p.key.queue, "error", err)
		}
		s.water.looked(p.key, found, time.Since(begun))
		if found != nil {
			s.Hub.Wake(base.TopicQueue(p.key.queue))
		}
	}()
}

// readBeside reads beside the claims, by the way they go.
func (s *Store) readBeside(fn func(tx base.Tx) error) error {
	return s.DB().Read(s.Closing, func(tx base.Tx) error {
		if walks := s.SQL.Walks(); walks != "" {
			if _, err := tx.Exec(s.Closing, walks); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

func (s *Store) beforeMark(p picking) (found *before, err error) {
	n := len(p.cond.Args)
	err = s.readBeside(func(tx base.Tx) error {
		all, err := base.Collect(s.Closing, tx, func(rows base.Rows) (b before, err error) {
			return b, rows.Scan(&b.priority, &b.readyAt, &b.id)
		}, `
			select priority, ready_at, id
			from belfry.jobs
			where state = 'ready' and `+s.UnleasedOfMany()+` and `+p.cond.Sql()+`
				and priority = `+base.Placeholder(n+1)+` and (ready_at, id) <= (`+base.Placeholder(n+2)+`, `+base.Placeholder(n+3)+`)
			order by priority desc, ready_at, id
			limit `+base.Placeholder(n+4)+` + 0`, append(slices.Clone(p.cond.Args), p.from.priority, p.from.readyAt, p.from.id, maxBefore)...)
		if found = nil; len(all) > 0 {
			found = &all[0]
			found.jobs = len(all)
		}
		return err
	})
	return found, err
}

// picked notes how far the look went, and whether it ended because it had found enough. A claim that leases no more than
// the first n leaves the others where they are.
func (c *claim) picked(p picking, rows []JobRow, n int, enough bool) {
	took := time.Since(p.begun)
	p.found = len(rows)
	if n < len(rows) {
		if n == 0 {
			return
		}
		p.n, enough = n, true
	}
	var last *mark
	if n > 0 {
		last = &mark{priority: rows[n-1].Priority, readyAt: rows[n-1].readyAt, id: rows[n-1].ID}
	}
	c.After(func() { c.s.water.rise(p, last, enough, c.Stable, took) })
}

// part is a walk through the index of ready jobs, or of those of several lanes,
// which are merged.
func (c *claim) part(p picking, unleased, more, limit string) string {
	const order = `
		order by priority desc, ready_at, id`
	limit = `
		limit ` + limit + ` + 0` // a sum, because SQLite plans anew for each value of a bare one
	walk := func(cond string) string {
		return SelectReady + `
		where state = 'ready' and ` + unleased + ` and ` + cond + more + order + limit + c.SQL.SkipLocked("jobs")
	}
	switch len(p.lanes) {
	case 0:
		return walk(p.cond.Sql())
	case 1:
		return walk(p.lanes[0])
	}
	all := make([]string, len(p.lanes))
	for i, lane := range p.lanes {
		all[i] = `select * from (` + walk(lane) + `) as lane_` + strconv.Itoa(i)
	}
	return strings.Join(all, ` union all `) + order + limit
}

// ranges are the conditions on what is before, at and after the priority of the
// mark. Their parameters are numbered from n: priority, ready_at, id.
func ranges(n int) (higher, same, lower string) {
	priority := base.Placeholder(n)
	return ` and priority > ` + priority, ` and priority = ` + priority + ` and (ready_at, id) > (` + base.Placeholder(n+1) + `, ` + base.Placeholder(n+2) + `)`, ` and priority < ` + priority
}

// walk locks the jobs, one statement after the other.
func (c *claim) walk(p picking) (rows []JobRow, err error) {
	rows = p.room()
	next := len(p.cond.Args) + 1
	look := func(more string, own ...any) {
		if left := p.n - len(rows); err == nil && left > 0 {
			args := append(append(slices.Clone(p.cond.Args), left), own...)
			rows, err = base.CollectInto(c.Ctx, c.Tx, rows, ScanReady(), c.part(p, c.s.Unleased(), more, base.Placeholder(next)), args...)
		}
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

// parts are the same for one statement, with its parameters.
func (c *claim) parts(p picking) (parts []base.Part, args []any) {
	next := len(p.cond.Args) + 1
	limit := base.Placeholder(next)
	args = append(slices.Clone(p.cond.Args), p.n)
	if p.marked {
		args = append(args, p.from.priority, p.from.readyAt, p.from.id)
	} else {
		args = append(args, base.Micros(c.Now))
	}
	if !p.marked {
		// What was claimed just now is most of what it steps over. To look for each of
		// these in its pack took 30 us, and 40 ms for a claim of a thousand.
		recent := c.SQL.UnpackedSince("id", base.Placeholder(next+1))
		return []base.Part{{Name: "everywhere", Query: c.part(p, c.s.Unleased()+recent, "", limit)}}, args
	}
	higher, same, lower := ranges(next + 1)
	unleased := base.OwnLeaseless
	switch {
	case !p.hopeful: // what is ready since the mark cannot have been claimed before it
		unleased += c.SQL.UnpackedSince("id", base.Placeholder(next+2))
	case p.n >= c.s.Opt.PackFrom: // the few that somebody else claimed apart are left out by the second look, all together
		unleased = "true"
	}
	return []base.Part{
		{Name: "higher", Query: c.part(p, c.s.Unleased(), higher, limit)},
		{Name: "same", Query: c.part(p, unleased, same, limit+` - (select count(*) from higher)`)},
		{Name: "lower", Query: c.part(p, c.s.Unleased(), lower, limit+` - (select count(*) from higher) - (select count(*) from same)`)},
	}, args
}
