package store

import (
	"context"
	"sync"
	"time"
)

// watch is how this process last saw the clock that decides, beside its own
// that cannot be set.
type watch struct {
	mu   sync.Mutex
	last look
}

type look struct {
	seen  bool
	wall  time.Time
	mono  time.Duration
	total time.Duration // by how much all nodes together had followed the clock
	times int64         // how often
}

const (
	// noticed is a difference that is no slewing any more.
	noticed = 500 * time.Millisecond
	// sureWithin is how long the question for the time may take. After that the
	// two clocks were not read together, and say nothing.
	sureWithin = 250 * time.Millisecond
	// patience is how long nothing is given up because nobody is sure.
	patience = 30 * time.Second
	// seenEvery is how often it is written down that the clock was looked at.
	seenEvery = 10 * time.Second
)

func monotonic() func() time.Duration {
	origin := time.Now()
	return func() time.Duration { return time.Since(origin) }
}

// FollowClock notices that the clock that decides was set, and makes up for it
// as [Store.ShiftClock] does, once for all nodes. Call it every second.
func (s *Store) FollowClock(ctx context.Context) error {
	return s.write(ctx, "follow clock", func(c *change) error {
		_, _, err := c.followClock()
		return err
	})
}

// trusted reports that what looks passed has passed: the clock was not set, or
// that was made up for already. Until that is known nothing is taken from
// anyone, but not for ever.
func (c *change) trusted() (bool, error) {
	_, sure, err := c.followClock()
	return sure, err
}

// followClock answers how far the clock was found set, and shifts by it. It is
// not sure when the question took too long, and somebody was sure a moment ago.
func (c *change) followClock() (by time.Duration, sure bool, err error) {
	if c.s.opt.Monotonic == nil {
		return 0, true, nil
	}
	mono := c.s.opt.Monotonic()
	c.s.watch.mu.Lock()
	last := c.s.watch.last
	c.s.watch.mu.Unlock()
	if mono-c.asked > sureWithin {
		return 0, last.seen && mono-last.mono > patience, nil
	}
	row, err := c.readClock("")
	if err != nil {
		return 0, false, err
	}
	if row.ahead(last, c.now, mono) {
		return 0, false, nil
	}
	if by = row.unfollowed(last, c.now, mono); by != 0 || c.now.Sub(row.seenAt) >= seenEvery {
		locked, err := c.readClock(c.sql.ForUpdate("clock"))
		if err != nil {
			return 0, false, err
		}
		if locked.shifts != row.shifts { // another node was faster
			if by = 0; last.seen {
				by = locked.unfollowed(last, c.now, mono)
			}
		}
		if row = locked; by != 0 {
			row.shifts, row.total, row.setAt, row.setBy = row.shifts+1, row.total+by, c.now, by
			if err := c.shiftClock(by); err != nil {
				return 0, false, err
			}
		}
		if _, err := c.tx.Exec(c.ctx, `update clock set shifts = $1, seen_at = $2, total = $3, set_at = $4, set_by = $5`,
			row.shifts, micros(c.now), row.total.Microseconds(), micros(row.setAt), row.setBy.Microseconds()); err != nil {
			return 0, false, err
		}
	}
	c.clock = row
	now := c.now
	c.after(func() {
		c.s.watch.mu.Lock()
		defer c.s.watch.mu.Unlock()
		c.s.watch.last = look{true, now, mono, row.total, row.shifts}
		if by != 0 {
			c.s.opt.Logger.Warn("the clock was set, and delays follow it", "by", by)
		}
	})
	// The first look of a process has nothing to compare with: what looks passed
	// may be a clock that was set since this process leased something.
	return by, last.seen || by != 0, nil
}

// clockSet answers how far the clock was set since somebody looked, if nobody
// has made up for it. It locks nothing, and changes nothing.
func (c *change) clockSet() (by time.Duration, err error) {
	if c.s.opt.Monotonic == nil {
		return 0, nil
	}
	slow := c.s.opt.Monotonic() - c.asked // the clock was read at some moment of these
	c.s.watch.mu.Lock()
	last := c.s.watch.last
	c.s.watch.mu.Unlock()
	if by = last.moved(c.now, c.asked); by > 0 {
		by = max(0, by-slow)
	}
	if !last.seen || by.Abs() < noticed {
		return 0, nil
	}
	row, err := c.readClock("")
	if err != nil {
		return 0, err
	}
	return plausible(by-row.followed(last), c.now, row.seenAt), nil
}

// moved is how far the clock was moved since a look.
func (l look) moved(now time.Time, mono time.Duration) time.Duration {
	return now.Sub(l.wall) - (mono - l.mono)
}

// clockRow is what all nodes together know of the clock.
type clockRow struct {
	shifts int64
	total  time.Duration // of them
	seenAt time.Time
	setAt  time.Time     // the last of them, by the clock as it was from then on
	setBy  time.Duration // that
}

// followed is by how much the clock was followed since a look.
func (r clockRow) followed(last look) time.Duration { return r.total - last.total }

// unfollowed is how far the clock was set and nobody has made up for it. Two
// steps of which another node has followed one are told apart by their sum. A
// program from before there was a sum counts, and is taken to have made up for all.
func (r clockRow) unfollowed(last look, now time.Time, mono time.Duration) time.Duration {
	switch {
	case !last.seen && r.seenAt.Sub(now) >= noticed:
		return now.Sub(r.seenAt) // set back while nobody looked
	case !last.seen, r.shifts != last.times && r.total == last.total, r.ahead(last, now, mono):
		return 0
	}
	return plausible(last.moved(now, mono)-r.followed(last), now, r.seenAt)
}

// ahead reports that the others have followed a step that this look does not
// show: its time was read before. If that stays so there was another step, back
// to where it was.
func (r clockRow) ahead(last look, now time.Time, mono time.Duration) bool {
	return last.seen && mono-last.mono <= patience && last.moved(now, mono).Abs() < noticed && r.followed(last).Abs() >= noticed
}

// plausible leaves out what is no setting of the clock: slewing, and a jump
// forward in the midst of which somebody saw the time. That one is this process,
// which did not run for a while on a machine whose own clock stood still too.
func plausible(by time.Duration, now, seenAt time.Time) time.Duration {
	if by.Abs() < noticed || by > 0 && now.Sub(seenAt) < by-seenEvery {
		return 0
	}
	return by
}

func (c *change) readClock(lock string) (clockRow, error) {
	row, _, err := first(c.ctx, c.tx, func(r Rows) (row clockRow, err error) {
		var total, by int64
		err = r.Scan(&row.shifts, scanTime{&row.seenAt}, &total, scanTime{&row.setAt}, &by)
		row.total, row.setBy = time.Duration(total)*time.Microsecond, time.Duration(by)*time.Microsecond
		return row, err
	}, `select shifts, seen_at, total, set_at, set_by from clock`+lock)
	return row, err
}

// openWithin is how long a transaction may have been open when the clock was
// followed that had its time from before the step. It is more than the database
// allows.
const openWithin = time.Minute

// underWay is between which instants those lie that were written by such a
// transaction after a step forward was followed, so that nobody has moved them;
// all moved ones of that age are from long before. Both are zero if there are
// none.
func (r clockRow) underWay() (from, to time.Time) {
	if r.setBy <= 0 {
		return from, to
	}
	return r.setAt.Add(-r.setBy - openWithin), r.setAt.Add(-r.setBy / 2)
}

// moved is a lease as it would be if it had not been under way.
func (h held) moved(r clockRow) held {
	if from, to := r.underWay(); h.claimedAt.After(from) && h.claimedAt.Before(to) {
		h.claimedAt, h.deadlineAt = h.claimedAt.Add(r.setBy), h.deadlineAt.Add(r.setBy)
	}
	return h
}

// ShiftClock makes up for a clock that was set by d; [Store.FollowClock] calls
// it by itself.
//
// Set back: what was planned as an instant but meant as a delay from some
// moment (a retry, a snooze, the rule that counts from the finish, a session's
// end) comes earlier by as much, so that nothing stalls until the clock has
// caught up. Nominal times are instants and stay.
//
// Set forward: sessions and the deadlines of what runs end later by as much, so
// that no job is taken from a worker that lives. What is late now has been
// missed like anything else.
func (s *Store) ShiftClock(ctx context.Context, d time.Duration) error {
	return s.write(ctx, "shift clock", func(c *change) error { return c.shiftClock(d) })
}

// shiftClock moves what was written before the clock was set, and not what was
// since: after a step back that has times which are still to come, after a step
// forward times that are long gone.
func (c *change) shiftClock(d time.Duration) error {
	before, than := ">", c.now
	if d > 0 {
		before, than = "<", c.now.Add(-d/2)
	}
	queries := []string{
		`update leases set deadline_at = deadline_at + $1, claimed_at = claimed_at + $1 where claimed_at ` + before + ` $2`,
		`update sessions set expires_at = expires_at + $1, renewed_at = renewed_at + $1 where ended_at = 0 and renewed_at ` + before + ` $2`,
		`update listening set since = since + $1, until = until + $1 where until ` + before + ` $2`,
	}
	// Intervals of members count time that passed, in either direction. That of a run under way counts from its
	// turn, whether there was one before or not.
	queries = append(queries,
		`update member_timing set started_at = started_at + $1 where started_at > 0 and started_at `+before+` $2`,
		`update member_timing set cycle_at = cycle_at + $1 where cycle_at > 0 and cycle_at `+before+` $2`,
		`update member_timing set turn_at = turn_at + $1 where turn_at > 0 and turn_at `+before+` $2`)
	if d < 0 {
		queries = append(queries,
			`update jobs set due_at = due_at + $1 where state = 'scheduled' and (failures > 0 or snoozes > 0 or origin in ('check', 'cycle') and nominal = 0) and due_at > $2`,
			`update alerts set due_at = due_at + $1 where state = 'pending' and due_at > $2`,
			`update jobs set ready_at = ready_at + $1 where state = 'ready' and ready_at > $2`,
			// Behind the high-water mark the next time is a look, and the time that counts from the finish is only a
			// name, just after that mark: see finishDue in the root.
			`update schedules
			set finish_at = finish_at + $1,
				next_at = case when next_at = finish_at or next_at > $2 and finish_at - high_water < 1000000 then next_at + $1 else next_at end
			where finish_at > $2`)
	}
	for _, q := range queries {
		if _, err := c.tx.Exec(c.ctx, q, d.Microseconds(), micros(than)); err != nil {
			return err
		}
	}
	c.wake(topicEngine)
	c.after(c.s.water.drain)
	c.after(c.s.due.drain)
	c.after(c.s.delayed.drain)
	return nil
}
