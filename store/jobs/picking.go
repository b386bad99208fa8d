package jobs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
	"github.com/belfry-run/belfry/store/marks"
)

// picking is the look of a session for ready jobs of a queue: the highest priority first, and within a priority in the order of
// turns.
type picking struct {
	marks.Look
	queue job.Queue
	cond  *base.Where
	// hopeful skips the check for leases of jobs after the mark. It is set if the mark is the place of the last claimed job:
	// then almost none of the jobs after it has a lease. Picked jobs are checked again. A small claim skips only the check for
	// packs, because its few jobs may all be leased by others, without packs. A mark that lags behind the last claim, because a
	// transaction stays open, has leased jobs after it; then hopeful is not set.
	hopeful bool
	begun   time.Time
	lanes   []string // conditions, one for each lane, whose walks are merged; none: cond
}

// makeRows makes a slice for about as many rows as the last claim found.
func (p picking) makeRows() []JobRow {
	return make([]JobRow, 0, min(p.N, p.From.Found+p.From.Found/8))
}

// picking prepares the look for n jobs of a queue. some is false if the session can run none of its ready jobs.
func (c *claim) picking(q job.Queue, n int) (p picking, some bool, err error) {
	p = picking{queue: q, cond: c.runnable(), begun: time.Now(), Look: marks.Look{Room: new(marks.Room), Key: marks.KeyOf(c.w, c.met, q.Name, q.TurnBase), N: n, Trip: time.Since(c.Begun)}}
	p.cond.And("queue = ?", q.Name)
	var lookBack bool
	p.From, p.Marked, lookBack = c.s.Marks.Begin(p.Key, c.Now)
	p.N = p.From.Fits(n)
	if b := p.From.Before; b != nil { // only these jobs: between them and the mark may be a million dead entries
		p.From.Priority, p.From.Turn, p.From.ID, p.N = b.Priority, b.Turn, b.ID-1, min(p.N, b.Jobs)
		lookBack = false
	} else {
		p.hopeful = p.Marked && p.From.ID > 0
	}
	if some, err = c.narrow(&p); err != nil || !some || !lookBack || !p.Marked {
		return p, some, err
	}
	if len(p.lanes) > 0 { // a walk of lanes is no slower than a look back
		p.Marked, p.hopeful = false, false
	} else {
		c.After(func() { c.s.lookBack(p) })
	}
	return p, true, nil
}

// lookBack finds jobs before a mark that a claim could take. It runs beside the claims, and locks nothing: the next claim finds
// out whether it can lease them.
func (s *Store) lookBack(p picking) {
	if !s.Marks.Turn(p.Key) {
		return
	}
	go func() {
		begun := time.Now()
		found, err := s.beforeMark(p)
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Warn("search for earlier jobs failed, trying again", "queue", p.Key.Queue, "error", err)
		}
		s.Marks.Looked(p.Key, found, time.Since(begun))
		if found != nil {
			s.Hub.Wake(base.TopicQueue(p.Key.Queue))
		}
	}()
}

// readBeside reads beside the claims, with the planner set to walk along an index as they do.
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

func (s *Store) beforeMark(p picking) (found *marks.Before, err error) {
	n := len(p.cond.Args)
	err = s.readBeside(func(tx base.Tx) error {
		all, err := base.Collect(s.Closing, tx, func(rows base.Rows) (b marks.Before, err error) {
			return b, rows.Scan(&b.Priority, &b.Turn, &b.ID)
		}, `
			select priority, turn, id
			from belfry.jobs
			where state = 'ready' and `+s.UnleasedOfMany()+` and `+p.cond.Sql()+`
				and priority = `+base.Placeholder(n+1)+` and (turn, id) <= (`+base.Placeholder(n+2)+`, `+base.Placeholder(n+3)+`)
			order by priority desc, turn, id
			limit `+base.Placeholder(n+4)+` + 0`, append(slices.Clone(p.cond.Args), p.From.Priority, p.From.Turn, p.From.ID, marks.MaxBefore)...)
		if found = nil; len(all) > 0 {
			found = &all[0]
			found.Jobs = len(all)
		}
		return err
	})
	return found, err
}

// picked raises the mark after a look, of which the claim leases the first n rows. enough reports that the look ended because it
// had found enough.
func (c *claim) picked(p picking, rows []JobRow, n int, enough bool) {
	took := time.Since(p.begun)
	p.Found = len(rows)
	if n < len(rows) {
		if n == 0 {
			return
		}
		p.N, enough = n, true
	}
	var last *marks.Mark
	if n > 0 {
		last = &marks.Mark{Priority: rows[n-1].Priority, Turn: rows[n-1].turn, ID: rows[n-1].ID}
	}
	c.After(func() {
		upTo := int64(0)
		if last != nil {
			upTo = turnsOf(c.Change).Bound(p.queue, last.Priority)
		}
		c.s.Marks.Rise(p.Look, last, enough, upTo, took)
	})
}

// part is a query that walks the index of ready jobs, or the merged walks of several lanes.
func (c *claim) part(p picking, unleased, more, limit string) string {
	const order = `
		order by priority desc, turn, id`
	limit = `
		limit ` + limit + ` + 0` // a sum, because SQLite plans anew for each value of a bare parameter
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

// ranges returns the conditions on jobs of a higher, the same and a lower priority than the mark. Their parameters are numbered
// from n: priority, turn, id.
func ranges(n int) (higher, same, lower string) {
	priority := base.Placeholder(n)
	return ` and priority > ` + priority, ` and priority = ` + priority + ` and (turn, id) > (` + base.Placeholder(n+1) + `, ` + base.Placeholder(n+2) + `)`, ` and priority < ` + priority
}

// walk picks and locks jobs, with one statement for each range.
func (c *claim) walk(p picking) (rows []JobRow, err error) {
	rows = p.makeRows()
	next := len(p.cond.Args) + 1
	look := func(more string, own ...any) {
		if left := p.N - len(rows); err == nil && left > 0 {
			args := append(append(slices.Clone(p.cond.Args), left), own...)
			rows, err = base.CollectInto(c.Ctx, c.Tx, rows, ScanReady(p.Room), c.part(p, c.s.Unleased(), more, base.Placeholder(next)), args...)
		}
	}
	if !p.Marked {
		look("")
		return rows, err
	}
	higher, same, lower := ranges(next + 1)
	look(higher, p.From.Priority)
	look(same, p.From.Priority, p.From.Turn, p.From.ID)
	look(lower, p.From.Priority)
	return rows, err
}

// parts returns the ranges as parts of one statement, with its parameters.
func (c *claim) parts(p picking) (parts []base.Part, args []any) {
	next := len(p.cond.Args) + 1
	limit := base.Placeholder(next)
	args = append(slices.Clone(p.cond.Args), p.N)
	if p.Marked {
		args = append(args, p.From.Priority, p.From.Turn, p.From.ID)
	} else {
		args = append(args, base.Micros(c.Now))
	}
	if !p.Marked {
		// Most skipped jobs were claimed just now. A look for one job in its pack took 30 us; for a claim of a thousand jobs,
		// that was 40 ms.
		recent := c.SQL.UnpackedSince("id", base.Placeholder(next+1))
		return []base.Part{{Name: "everywhere", Query: c.part(p, c.s.Unleased()+recent, "", limit)}}, args
	}
	higher, same, lower := ranges(next + 1)
	unleased := base.OwnLeaseless
	switch {
	case !p.hopeful && p.queue.TurnBase > 0:
		unleased += c.SQL.UnpackedSince("id", "0")
	case !p.hopeful: // a job that became ready after the mark cannot have been claimed before it
		unleased += c.SQL.UnpackedSince("id", base.Placeholder(next+2))
	case p.N >= c.s.Opt.PackFrom: // the second check leaves out the few jobs with leases of their own
		unleased = "true"
	}
	return []base.Part{
		{Name: "higher", Query: c.part(p, c.s.Unleased(), higher, limit)},
		{Name: "same", Query: c.part(p, unleased, same, limit+` - (select count(*) from higher)`)},
		{Name: "lower", Query: c.part(p, c.s.Unleased(), lower, limit+` - (select count(*) from higher) - (select count(*) from same)`)},
	}, args
}
