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

// picking is how a session looks for ready jobs of a queue: the highest priority
// first and in it the longest ready.
type picking struct {
	marks.Look
	queue job.Queue
	cond  *base.Where
	// hopeful does not look for the leases of what comes behind the mark, if that is
	// the place of the last job that was claimed: as good as none of these jobs has
	// one. Picked jobs are looked at again. Few jobs may all be claimed by others
	// and not in packs, so a small claim leaves out no more than the packs. A mark that
	// lags behind the last claim, because of a transaction that stays open, has leased
	// jobs behind it.
	hopeful bool
	begun   time.Time
	// lanes are conditions to walk under one by one in place of cond, in the order
	// of all; none: cond.
	lanes []string
}

// room is for about as many rows as the last claim has found.
func (p picking) room() []JobRow {
	return make([]JobRow, 0, min(p.N, p.From.Found+p.From.Found/8))
}

// picking is how the claim looks for n jobs of a queue. Not some: it can run none of what is ready there.
func (c *claim) picking(q job.Queue, n int) (p picking, some bool, err error) {
	p = picking{queue: q, cond: c.runnable(), begun: time.Now(), Look: marks.Look{Key: marks.KeyOf(c.w, c.met, q.Name, q.TurnBase), N: n, Trip: time.Since(c.Begun)}}
	p.cond.And("queue = ?", q.Name)
	var lookBack bool
	p.From, p.Marked, lookBack = c.s.water.Begin(p.Key, c.Now)
	if b := p.From.Before; b != nil { // and no further: behind them may be a million dead entries up to the mark
		p.From.Priority, p.From.Turn, p.From.ID, p.N = b.Priority, b.Turn, b.ID-1, min(p.N, b.Jobs)
		lookBack = false
	} else {
		p.hopeful = p.Marked && p.From.ID > 0
	}
	if some, err = c.narrow(&p); err != nil || !some || !lookBack || !p.Marked {
		return p, some, err
	}
	if len(p.lanes) > 0 { // which is no dearer than a look back
		p.Marked, p.hopeful = false, false
	} else {
		c.After(func() { c.s.lookBack(p) })
	}
	return p, true, nil
}

// lookBack finds jobs before a mark that a claim could take, beside the claims. It
// locks nothing: whether they can be had is for the claim to say.
func (s *Store) lookBack(p picking) {
	if !s.water.Turn(p.Key) {
		return
	}
	go func() {
		begun := time.Now()
		found, err := s.beforeMark(p)
		if err != nil && s.Closing.Err() == nil {
			s.Opt.Logger.Warn("look back for jobs failed, trying again", "queue", p.Key.Queue, "error", err)
		}
		s.water.Looked(p.Key, found, time.Since(begun))
		if found != nil {
			s.Hub.Wake(base.TopicQueue(p.Key.Queue))
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

// picked notes how far the look went, and whether it ended because it had found enough. A claim that leases no more than
// the first n leaves the others where they are.
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
		c.s.water.Rise(p.Look, last, enough, upTo, took)
	})
}

// part is a walk through the index of ready jobs, or of those of several lanes,
// which are merged.
func (c *claim) part(p picking, unleased, more, limit string) string {
	const order = `
		order by priority desc, turn, id`
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
// mark. Their parameters are numbered from n: priority, turn, id.
func ranges(n int) (higher, same, lower string) {
	priority := base.Placeholder(n)
	return ` and priority > ` + priority, ` and priority = ` + priority + ` and (turn, id) > (` + base.Placeholder(n+1) + `, ` + base.Placeholder(n+2) + `)`, ` and priority < ` + priority
}

// walk locks the jobs, one statement after the other.
func (c *claim) walk(p picking) (rows []JobRow, err error) {
	rows = p.room()
	next := len(p.cond.Args) + 1
	look := func(more string, own ...any) {
		if left := p.N - len(rows); err == nil && left > 0 {
			args := append(append(slices.Clone(p.cond.Args), left), own...)
			rows, err = base.CollectInto(c.Ctx, c.Tx, rows, ScanReady(), c.part(p, c.s.Unleased(), more, base.Placeholder(next)), args...)
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

// parts are the same for one statement, with its parameters.
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
		// Jobs that were claimed just now are most of those it steps over. To look for each of
		// these in its pack took 30 us, and 40 ms for a claim of a thousand.
		recent := c.SQL.UnpackedSince("id", base.Placeholder(next+1))
		return []base.Part{{Name: "everywhere", Query: c.part(p, c.s.Unleased()+recent, "", limit)}}, args
	}
	higher, same, lower := ranges(next + 1)
	unleased := base.OwnLeaseless
	switch {
	case !p.hopeful && p.queue.TurnBase > 0:
		unleased += c.SQL.UnpackedSince("id", "0")
	case !p.hopeful: // what is ready since the mark cannot have been claimed before it
		unleased += c.SQL.UnpackedSince("id", base.Placeholder(next+2))
	case p.N >= c.s.Opt.PackFrom: // the few that another claim leased apart are left out by the second look, all together
		unleased = "true"
	}
	return []base.Part{
		{Name: "higher", Query: c.part(p, c.s.Unleased(), higher, limit)},
		{Name: "same", Query: c.part(p, unleased, same, limit+` - (select count(*) from higher)`)},
		{Name: "lower", Query: c.part(p, c.s.Unleased(), lower, limit+` - (select count(*) from higher) - (select count(*) from same)`)},
	}, args
}
