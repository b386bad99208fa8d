package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
)

// watch keeps the last look of this process at the deciding clock, and at its own monotonic clock, which cannot be set.
type watch struct {
	mu   sync.Mutex
	last clockReading
}

type clockReading struct {
	seen  bool
	wall  time.Time
	mono  time.Duration
	total time.Duration // sum of all steps that all nodes together had followed
	times int64         // number of these steps
}

const (
	// noticed is the smallest difference that counts as a step; smaller ones are slewing.
	noticed = 500 * time.Millisecond
	// sureWithin bounds the query for the time. If it takes longer, the two clocks were not read together, and prove nothing.
	sureWithin = 250 * time.Millisecond
	// patience is how long the clock may be in doubt before elapsed time is trusted all the same.
	patience = 30 * time.Second
	// seenEvery is how often a look at the clock is written to the database.
	seenEvery = 10 * time.Second
)

func monotonic() func() time.Duration {
	origin := time.Now()
	return func() time.Duration { return time.Since(origin) }
}

// Now returns the present instant of the deciding clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	skew, err := s.db.Skew(ctx)
	if s.Opt.Clock != nil {
		return core.Micro(s.Opt.Clock()), err
	}
	return core.Micro(time.Now().Add(-skew)), err
}

// FollowClock detects that the deciding clock was set, and compensates as [Store.ShiftClock] does, once for all nodes. Call it
// every second.
func (s *Store) FollowClock(ctx context.Context) error {
	return s.Write(ctx, "follow clock", (*Change).followClock)
}

// errClockSet ends a transition that finds that the clock was set. [Store.Write] follows the clock and begins the transition
// again. The transition cannot follow it itself: it may hold locks, and following the clock locks all rows that have a time, in
// an order of its own.
var errClockSet = errors.New("the clock was set, and no node has followed it yet")

// followTries is how often a transition begins again because of a step. The last time it goes on, and trusts no elapsed time.
const followTries = 3

// Trusted reports whether elapsed time can be trusted: the clock was not set, or the step was followed. Until that is known, no
// lease or session is taken away, but not for longer than [patience].
func (c *Change) Trusted() (bool, error) {
	if c.s.Opt.Monotonic == nil {
		return true, nil
	}
	k, err := c.compareClock()
	switch {
	case err != nil || !k.made:
		return k.sure, err
	case k.by != 0 && !c.unsure:
		return false, errClockSet
	case k.by != 0:
		return false, nil
	}
	c.compared(k)
	// The first look of a process has no look to compare with: the clock may have been set since an instant that looks past.
	return k.last.seen, nil
}

// followClock follows the step that a look at the clock finds, if any.
func (c *Change) followClock() error {
	if c.s.Opt.Monotonic == nil {
		return nil
	}
	k, err := c.compareClock()
	if err != nil || !k.made {
		return err
	}
	if k.by != 0 || k.row.open.To > 0 || c.Now.Sub(k.row.seenAt) >= seenEvery {
		locked, err := c.ReadClock(c.SQL.ForUpdate("clock"))
		if err != nil {
			return err
		}
		if locked.shifts != k.row.shifts { // another node has followed a step meanwhile
			if k.by = 0; k.last.seen {
				k.by = locked.unfollowed(k.last, c.Now, k.mono)
			}
		}
		k.row = locked
		if err := c.followOpen(&k.row, k.by); err != nil {
			return err
		}
		if k.by != 0 {
			k.row.shifts, k.row.total, k.row.setAt, k.row.SetBy = k.row.shifts+1, k.row.total+k.by, c.Now, k.by
			if err := c.shiftClock(Step{By: k.by, At: c.Now, Total: k.row.total}); err != nil {
				return err
			}
			open := &k.row.open
			if open.By, open.To = open.By+k.by, c.Number; open.From == 0 {
				open.From = c.Oldest
			}
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.clock set shifts = $1, seen_at = $2, total = $3, set_at = $4, set_by = $5, open_by = $6, open_from = $7, open_to = $8`,
			k.row.shifts, Micros(c.Now), k.row.total.Microseconds(), Micros(k.row.setAt), k.row.SetBy.Microseconds(), k.row.open.By.Microseconds(), k.row.open.From, k.row.open.To); err != nil {
			return err
		}
	}
	c.compared(k)
	return nil
}

// comparison compares a look at the clock with the last look of this process.
type comparison struct {
	made bool // false: the query took too long, or other nodes know of a newer step
	sure bool // if not made: elapsed time is trusted all the same, because the clock was in doubt for longer than patience
	last clockReading
	mono time.Duration
	row  ClockRow
	by   time.Duration // the step that no node has followed; 0: none
}

// compareClock looks at the clock. It locks and changes no row.
func (c *Change) compareClock() (k comparison, err error) {
	k.mono = c.s.Opt.Monotonic()
	c.s.watch.mu.Lock()
	k.last = c.s.watch.last
	c.s.watch.mu.Unlock()
	if k.mono-c.asked > sureWithin {
		k.sure = k.last.seen && k.mono-k.last.mono > patience
		return k, nil
	}
	if k.row, err = c.ReadClock(""); err != nil {
		return k, err
	}
	k.made = !k.row.ahead(k.last, c.Now, k.mono)
	k.by = k.row.unfollowed(k.last, c.Now, k.mono)
	return k, nil
}

// compared keeps a comparison for this transition, and after the commit for the next look.
func (c *Change) compared(k comparison) {
	c.Clock = k.row
	now := c.Now
	c.After(func() {
		c.s.watch.mu.Lock()
		defer c.s.watch.mu.Unlock()
		c.s.watch.last = clockReading{true, now, k.mono, k.row.total, k.row.shifts}
		if k.by != 0 {
			c.s.Opt.Logger.Warn("the clock was set, and delays follow it", "by", k.by)
		}
	})
}

// ClockSet returns the step of the clock that no node has followed yet (by), and the sum of the followed steps (total). Now minus
// by is an instant of a clock whose followed steps sum to total. It locks and changes no row.
func (c *Change) ClockSet() (by, total time.Duration, err error) {
	c.s.watch.mu.Lock()
	last := c.s.watch.last
	c.s.watch.mu.Unlock()
	if c.s.Opt.Monotonic != nil && last.seen {
		slow := c.s.Opt.Monotonic() - c.asked // the clock was read at some moment within this time
		if by = last.moved(c.Now, c.asked); by > 0 {
			by = max(0, by-slow)
		}
		if by.Abs() < noticed {
			return 0, last.total, nil
		}
	}
	row, err := c.ReadClock("")
	if err != nil || by == 0 {
		return 0, row.total, err
	}
	return plausible(by-row.followed(last), c.Now, row.seenAt), row.total, nil
}

// moved returns by how much the clock was set since a look.
func (l clockReading) moved(now time.Time, mono time.Duration) time.Duration {
	return now.Sub(l.wall) - (mono - l.mono)
}

// ClockRow is the shared knowledge of all nodes about the clock.
type ClockRow struct {
	shifts int64         // number of followed steps
	total  time.Duration // sum of the followed steps
	seenAt time.Time     // last written look
	setAt  time.Time     // instant of the last step, by the clock after it
	SetBy  time.Duration // the last step
	open   Step          // the last steps together, to be followed for transactions that were under way
}

// followed returns the sum of the steps that were followed since a look.
func (r ClockRow) followed(last clockReading) time.Duration { return r.total - last.total }

// unfollowed returns the step that no node has followed. If another node has followed one of two steps, the sum of the followed
// steps tells which. An older program counts steps without a sum, and is taken to have followed all of them.
func (r ClockRow) unfollowed(last clockReading, now time.Time, mono time.Duration) time.Duration {
	switch {
	case !last.seen && r.seenAt.Sub(now) >= noticed:
		return now.Sub(r.seenAt) // set back between two looks
	case !last.seen, r.shifts != last.times && r.total == last.total, r.ahead(last, now, mono):
		return 0
	}
	return plausible(last.moved(now, mono)-r.followed(last), now, r.seenAt)
}

// ahead reports whether other nodes have followed a step that this look does not show, because its time was read before the step.
// If that stays so for longer than patience, there was another step, back to the old time.
func (r ClockRow) ahead(last clockReading, now time.Time, mono time.Duration) bool {
	return last.seen && mono-last.mono <= patience && last.moved(now, mono).Abs() < noticed && r.followed(last).Abs() >= noticed
}

// plausible returns 0 for a difference that is no step of the clock: slewing, or a jump forward during which a look was written.
// Such a jump means that this process did not run for a while, on a machine whose monotonic clock also stood still.
func plausible(by time.Duration, now, seenAt time.Time) time.Duration {
	if by.Abs() < noticed || by > 0 && now.Sub(seenAt) < by-seenEvery {
		return 0
	}
	return by
}

// ReadClock reads the row of the clock. lock is the suffix of the query that locks the row; "" reads without a lock.
func (c *Change) ReadClock(lock string) (ClockRow, error) {
	row, _, err := First(c.Ctx, c.Tx, func(r Rows) (row ClockRow, err error) {
		var total, by, open int64
		err = r.Scan(&row.shifts, ScanTime(&row.seenAt), &total, ScanTime(&row.setAt), &by, &open, &row.open.From, &row.open.To)
		row.total, row.SetBy, row.open.By = time.Duration(total)*time.Microsecond, time.Duration(by)*time.Microsecond, time.Duration(open)*time.Microsecond
		return row, err
	}, `select shifts, seen_at, total, set_at, set_by, open_by, open_from, open_to from belfry.clock`+lock)
	return row, err
}

// openWithin bounds the age of a transaction that was open when a step was followed, and has its time from before the step. It is
// more than the database allows.
const openWithin = time.Minute

// UnderWay returns the bounds of instants that no node has moved: those that such a transaction wrote after a step forward was
// followed. Moved instants between the bounds are from long before. Both bounds are zero if there are no such instants.
func (r ClockRow) UnderWay() (from, to time.Time) {
	if r.SetBy <= 0 {
		return from, to
	}
	return r.setAt.Add(-r.SetBy - openWithin), r.setAt.Add(-r.SetBy / 2)
}

// ShiftClock compensates for a clock that was set by d. [Store.FollowClock] does so automatically.
//
// Set back: instants that mean a delay (of a retry, a snooze, a rule that counts from the finish, the end of a session) move back
// by as much, so that nothing stalls until the clock has caught up. Nominal times are instants and stay.
//
// Set forward: the ends of sessions and the deadlines of running jobs move forward by as much, so that no job is taken from a
// live worker. Nominal times that are past now count as missed.
func (s *Store) ShiftClock(ctx context.Context, d time.Duration) error {
	return s.Write(ctx, "shift clock", func(c *Change) error {
		row, err := c.ReadClock(c.SQL.ForUpdate("clock"))
		if err != nil {
			return err
		}
		if _, err := c.Tx.Exec(c.Ctx, `update belfry.clock set total = total + $1`, d.Microseconds()); err != nil {
			return err
		}
		return c.shiftClock(Step{By: d, At: c.Now, Total: row.total + d})
	})
}

// Step is a step of the clock that is followed.
type Step struct {
	By    time.Duration
	At    time.Time     // now, by the clock after the step
	Total time.Duration // sum of all steps, including this one
	// From and To are 0 when a step is followed for all rows. Otherwise the step was followed before, and is now followed for
	// rows of transactions that were under way then: with numbers from From on and below To. Only PostgreSQL has these.
	From, To int64
}

// underWay is how long after a step every look follows it for transactions that were under way and have ended since. After that,
// the step is followed once more, when the last of these transactions has ended.
const underWay = 10 * time.Second

// followOpen follows the last steps for rows of transactions that were under way. A newer step is followed after that: otherwise
// times that the last steps have moved already would look unmoved.
func (c *Change) followOpen(row *ClockRow, newer time.Duration) error {
	if row.open.To == 0 || c.Oldest < row.open.To && c.Now.Sub(row.setAt) >= underWay {
		return nil
	}
	step := row.open
	if step.At, step.Total = c.Now.Add(-newer), row.total; c.Oldest >= step.To {
		row.open = Step{}
	}
	return c.shiftClock(step)
}

func (c *Change) shiftClock(step Step) error {
	if err := c.s.shift(c, step); err != nil {
		return err
	}
	c.Wake(TopicEngine)
	for _, fn := range c.s.clockSet {
		c.After(fn)
	}
	return nil
}
