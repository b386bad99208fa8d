package turns

import (
	"time"

	"github.com/belfry-run/belfry/job"
	"github.com/belfry-run/belfry/store/base"
)

// line identifies the jobs of one priority in an era of a queue.
type line struct {
	queue    string
	created  int64 // when the queue was created: it may have been deleted and created again
	era      int64
	priority int
}

func lineOf(q job.Queue, priority int) line {
	return line{q.Name, base.Micros(q.CreatedAt), q.TurnBase, priority}
}

// progress is how far claims have come in a line.
type progress struct {
	reached int64     // the largest turn that this process has claimed
	written int64     // the largest turn that is known to be in the database
	known   time.Time // since when written is known, by the monotonic clock
	wroteAt time.Time // last write, by the monotonic clock
	there   bool      // the row of the line exists

	// settled is a written turn; every job that is not seen yet has a later one. next is also written, and becomes settled:
	// every transaction that begins at since or later sees it.
	settled, next int64
	since         time.Time
}

// writeEvery is the shortest time between two writes of the progress of a line. Another node, or this node after a crash, does
// not know the claims since the last write. So a key without waiting jobs may once be ahead of the others by that much.
const writeEvery = 50 * time.Millisecond

const maxLines = 10_000 // beyond it, all lines are dropped, and read again

// reached returns the largest claimed turn that this process knows, without a query.
func (s *Store) reached(q job.Queue, priority int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.lines[lineOf(q, priority)]; p != nil {
		return max(q.TurnBase, p.reached)
	}
	return q.TurnBase
}

// lineAt returns the progress of a line, under the mutex.
func (s *Store) lineAt(l line) *progress {
	p := s.lines[l]
	if p == nil {
		if len(s.lines) >= maxLines {
			clear(s.lines)
		}
		p = &progress{}
		s.lines[l] = p
	}
	return p
}

// Reach records the progress of a claim in a fair queue. The claim takes n jobs in order; at returns the priority and turn of
// each. Reach waits for no other transaction.
func (c *Change) Reach(q job.Queue, n int, at func(i int) (priority int, turn int64)) error {
	if q.Fair == nil {
		return nil
	}
	for i := range n {
		priority, turn := at(i)
		if i+1 < n {
			if next, _ := at(i + 1); next == priority {
				continue
			}
		}
		if err := c.reach(q, priority, turn); err != nil {
			return err
		}
	}
	return nil
}

func (c *Change) reach(q job.Queue, priority int, turn int64) error {
	l, plain := lineOf(q, priority), c.s.Opt.Claims.Plain
	c.s.mu.Lock()
	p := *c.s.lineAt(l)
	c.s.mu.Unlock()
	if turn > p.written && (plain || time.Since(p.wroteAt) >= writeEvery) {
		if err := c.write(q.Name, priority, turn, &p); err != nil {
			return err
		}
	}
	if !plain {
		p.reached = max(p.reached, turn)
	}
	c.After(func() { c.s.wrote(l, p) })
	return nil
}

// write writes the progress of a line, unless another transaction has locked its row.
func (c *Change) write(queue string, priority int, turn int64, p *progress) error {
	if !p.there {
		if _, err := c.Tx.Exec(c.Ctx, `insert into belfry.turns (queue, priority, turn) values ($1, $2, 0) on conflict do nothing`, queue, priority); err != nil {
			return err
		}
		p.there = true
	}
	written, some, err := base.First(c.Ctx, c.Tx, base.ScanInt, `
		update belfry.turns
		set turn = $3
		where (queue, priority) in (select queue, priority from belfry.turns where queue = $1 and priority = $2 and turn < $3`+c.SQL.SkipLocked("turns")+`)
		returning turn`, queue, priority, turn)
	if err == nil && !some {
		written, some, err = base.First(c.Ctx, c.Tx, base.ScanInt, `select turn from belfry.turns where queue = $1 and priority = $2`, queue, priority)
		p.there = some // false: the queue was deleted
	}
	p.written, p.wroteAt = max(p.written, written), time.Now()
	return err
}

// writeAll writes the unwritten progress of up to 100 lines.
func (c *Change) writeAll() error {
	c.s.mu.Lock()
	behind := map[line]progress{}
	for l, p := range c.s.lines {
		if p.reached > p.written && p.there && len(behind) < 100 {
			behind[l] = *p
		}
	}
	c.s.mu.Unlock()
	for l, p := range behind {
		if err := c.write(l.queue, l.priority, p.reached, &p); err != nil {
			return err
		}
		c.After(func() { c.s.wrote(l, p) })
	}
	return nil
}

// wrote keeps the progress of a line after the commit.
func (s *Store) wrote(l line, p progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.lineAt(l)
	if now.there, now.wroteAt = p.there, p.wroteAt; p.written > now.written {
		now.written, now.known = p.written, time.Now()
	}
	now.reached = max(now.reached, p.reached)
}

// Bound returns a turn such that this transition sees every job of the queue with an earlier turn: all jobs that are still to
// come have later turns. The exception is a transaction that stays open for long ([base.Moment.Stable]).
func (c *Change) Bound(q job.Queue, priority int) int64 {
	if q.Fair == nil {
		return q.TurnBase + base.Micros(c.Stable)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	p := c.s.lineAt(lineOf(q, priority))
	if p.next == 0 && p.written > p.settled && !c.Begun.Before(p.known) {
		p.next, p.since = p.written, c.Now
	}
	if p.next > 0 && !c.Stable.Before(p.since) {
		p.settled, p.next = p.next, 0
	}
	return p.settled
}
