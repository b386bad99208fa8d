package base

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfry-run/belfry/core"
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
	// patience is how long nothing is given up while the clock is in doubt.
	patience = 30 * time.Second
	// seenEvery is how often it is written down that the clock was looked at.
	seenEvery = 10 * time.Second
)

func monotonic() func() time.Duration {
	origin := time.Now()
	return func() time.Duration { return time.Since(origin) }
}

// Now is the instant of the clock that decides.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	skew, err := s.db.Skew(ctx)
	if s.Opt.Clock != nil {
		return core.Micro(s.Opt.Clock()), err
	}
	return core.Micro(time.Now().Add(-skew)), err
}

// FollowClock notices that the clock that decides was set, and makes up for it
// as [Store.ShiftClock] does, once for all nodes. Call it every second.
func (s *Store) FollowClock(ctx context.Context) error {
	return s.Write(ctx, "follow clock", (*Change).followClock)
}

// errClockSet ends a transition that finds the clock set. [Store.write] follows
// the clock and begins the transition again: it may hold locks already, and to
// follow the clock takes those of all that has a time, in an order of their own.
var errClockSet = errors.New("the clock was set, and nobody has followed it yet")

// followTries is how often a transition is begun again because of that. The last
// time it goes on, and trusts nothing.
const followTries = 3

// Trusted reports that what looks passed has passed: the clock was not set, or
// that was made up for already. Until that is known nothing is taken from
// anyone, but not for ever.
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
	// The first look of a process has nothing to compare with: what looks passed
	// may be a clock that was set since this process leased something.
	return k.last.seen, nil
}

// followClock shifts by how far the clock is found set.
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
		if locked.shifts != k.row.shifts { // another node was faster
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

// comparison is what a look at the clock says beside the last one of this
// process.
type comparison struct {
	made bool // or the question took too long, or others know more
	sure bool // if not: that nothing was set all the same, because the clock was in doubt for so long
	last look
	mono time.Duration
	row  ClockRow
	by   time.Duration // that the clock was set, and no node has followed it
}

// compareClock locks nothing, and changes nothing.
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

// compared keeps a comparison for this transition, and for the next look once it
// is committed.
func (c *Change) compared(k comparison) {
	c.Clock = k.row
	now := c.Now
	c.After(func() {
		c.s.watch.mu.Lock()
		defer c.s.watch.mu.Unlock()
		c.s.watch.last = look{true, now, k.mono, k.row.total, k.row.shifts}
		if k.by != 0 {
			c.s.Opt.Logger.Warn("the clock was set, and delays follow it", "by", k.by)
		}
	})
}

// ClockSet answers how far the clock was set without a node that made up for it, and by how much it was followed before that: the
// time less the one is of a clock that was followed by the other. It locks nothing, and changes nothing.
func (c *Change) ClockSet() (by, total time.Duration, err error) {
	c.s.watch.mu.Lock()
	last := c.s.watch.last
	c.s.watch.mu.Unlock()
	if c.s.Opt.Monotonic != nil && last.seen {
		slow := c.s.Opt.Monotonic() - c.asked // the clock was read at some moment of these
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

// moved is how far the clock was moved since a look.
func (l look) moved(now time.Time, mono time.Duration) time.Duration {
	return now.Sub(l.wall) - (mono - l.mono)
}

// ClockRow is what all nodes together know of the clock.
type ClockRow struct {
	shifts int64
	total  time.Duration // of them
	seenAt time.Time
	setAt  time.Time     // the last of them, by the clock as it was from then on
	SetBy  time.Duration // that
	open   Step          // the last of them together, for what was under way
}

// followed is by how much the clock was followed since a look.
func (r ClockRow) followed(last look) time.Duration { return r.total - last.total }

// unfollowed is how far the clock was set and no node has made up for it. Two
// steps of which another node has followed one are told apart by their sum. A
// program from before there was a sum counts, and is taken to have made up for all.
func (r ClockRow) unfollowed(last look, now time.Time, mono time.Duration) time.Duration {
	switch {
	case !last.seen && r.seenAt.Sub(now) >= noticed:
		return now.Sub(r.seenAt) // set back between two looks
	case !last.seen, r.shifts != last.times && r.total == last.total, r.ahead(last, now, mono):
		return 0
	}
	return plausible(last.moved(now, mono)-r.followed(last), now, r.seenAt)
}

// ahead reports that the others have followed a step that this look does not
// show: its time was read before. If that stays so there was another step, back
// to where it was.
func (r ClockRow) ahead(last look, now time.Time, mono time.Duration) bool {
	return last.seen && mono-last.mono <= patience && last.moved(now, mono).Abs() < noticed && r.followed(last).Abs() >= noticed
}

// plausible leaves out what is no setting of the clock: slewing, and a jump
// forward in the midst of which the time was read. That one is this process,
// which did not run for a while on a machine whose own clock stood still too.
func plausible(by time.Duration, now, seenAt time.Time) time.Duration {
	if by.Abs() < noticed || by > 0 && now.Sub(seenAt) < by-seenEvery {
		return 0
	}
	return by
}

func (c *Change) ReadClock(lock string) (ClockRow, error) {
	row, _, err := First(c.Ctx, c.Tx, func(r Rows) (row ClockRow, err error) {
		var total, by, open int64
		err = r.Scan(&row.shifts, ScanTime(&row.seenAt), &total, ScanTime(&row.setAt), &by, &open, &row.open.From, &row.open.To)
		row.total, row.SetBy, row.open.By = time.Duration(total)*time.Microsecond, time.Duration(by)*time.Microsecond, time.Duration(open)*time.Microsecond
		return row, err
	}, `select shifts, seen_at, total, set_at, set_by, open_by, open_from, open_to from belfry.clock`+lock)
	return row, err
}

// openWithin is how long a transaction may have been open when the clock was
// followed that had its time from before the step. It is more than the database
// allows.
const openWithin = time.Minute

// UnderWay is between which instants those lie that were written by such a
// transaction after a step forward was followed, so that no node has moved them;
// all moved ones of that age are from long before. Both are zero if there are
// none.
func (r ClockRow) UnderWay() (from, to time.Time) {
	if r.SetBy <= 0 {
		return from, to
	}
	return r.setAt.Add(-r.SetBy - openWithin), r.setAt.Add(-r.SetBy / 2)
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
// that no job is taken from a worker that lives. Times that are late now have been
// missed like anything else.
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
	At    time.Time     // now, by the clock as it is after it
	Total time.Duration // of all steps, with this one
	// Where several write at once: it was followed before, and this is for what was written by transactions with a number from
	// From on and below To, which were under way then. All were, if both are 0.
	From, To int64
}

// underWay is for how long after a step each look follows it for what was under way and has ended since. After that the
// last of them is waited for.
const underWay = 10 * time.Second

// followOpen follows the last steps for what was written by transactions that were under way. A newer step is followed
// after that: before it, times that the last steps have moved already would look as if they had not.
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
