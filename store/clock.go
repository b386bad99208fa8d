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
	seen   bool
	wall   time.Time
	mono   time.Duration
	shifts int64 // how often all nodes together had followed the clock
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
	shifts, seenAt, err := c.clockRow("")
	if err != nil {
		return 0, false, err
	}
	switch {
	case !last.seen && seenAt.Sub(c.now) >= noticed:
		by = c.now.Sub(seenAt) // set back while nobody looked
	case last.seen && shifts == last.shifts:
		by = plausible(c.now.Sub(last.wall)-(mono-last.mono), c.now, seenAt)
	}
	if by != 0 || c.now.Sub(seenAt) >= seenEvery {
		locked, _, err := c.clockRow(c.sql.ForUpdate("clock"))
		if err != nil {
			return 0, false, err
		}
		if locked != shifts { // another node was faster
			shifts, by = locked, 0
		}
		if by != 0 {
			shifts++
			if err := c.shiftClock(by); err != nil {
				return 0, false, err
			}
		}
		if _, err := c.tx.Exec(c.ctx, `update clock set shifts = $1, seen_at = $2`, shifts, micros(c.now)); err != nil {
			return 0, false, err
		}
	}
	now := c.now
	c.after(func() {
		c.s.watch.mu.Lock()
		defer c.s.watch.mu.Unlock()
		c.s.watch.last = look{true, now, mono, shifts}
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
	if by = c.now.Sub(last.wall) - (c.asked - last.mono); by > 0 {
		by = max(0, by-slow)
	}
	if !last.seen || by.Abs() < noticed {
		return 0, nil
	}
	shifts, seenAt, err := c.clockRow("")
	if err != nil || shifts != last.shifts {
		return 0, err
	}
	return plausible(by, c.now, seenAt), nil
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

func (c *change) clockRow(lock string) (shifts int64, seenAt time.Time, err error) {
	rows, err := c.tx.Query(c.ctx, `select shifts, seen_at from clock`+lock)
	if err != nil {
		return 0, time.Time{}, err
	}
	defer rows.Close()
	var us int64
	for rows.Next() {
		if err := rows.Scan(&shifts, &us); err != nil {
			return 0, time.Time{}, err
		}
	}
	return shifts, instant(us), rows.Err()
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
	return nil
}
